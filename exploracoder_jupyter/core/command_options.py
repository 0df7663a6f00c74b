"""The options of a run: one table for `%%explora` and `jupyter explora run`.

Each option declares the values it takes and the setting it sets; parsers, help, completion and the settings layer are
computed from the table. Keep imports light: `%load_ext` imports this module.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.wording import did_you_mean

if TYPE_CHECKING:
    from pydantic import JsonValue

Kind = Literal["text", "whole", "number", "choice", "flag", "names", "paths", "maybe"]
"""`maybe`: a text that may be omitted in a magic's line."""
Place = Literal["magic", "command"]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Option:
    """One option, e.g. `--debug-rounds R`."""

    name: str
    """Without the dashes, e.g. `debug-rounds`."""
    help: str
    kind: Kind = "text"
    metavar: str = ""
    choices: tuple[str, ...] = ()
    section: str = ""
    """Section of the setting that it sets; empty if it belongs to the task or to the front end."""
    field: str = ""
    """Field of the setting in that section."""
    negates: bool = False
    """Whether the flag turns its setting off."""
    places: tuple[Place, ...] = ("magic", "command")
    refused: tuple[tuple[str, str], ...] = ()
    """Choices that the command line rejects, each with the reason."""
    command_help: str = ""
    """The help on the command line, if it differs: there is no live kernel."""

    @property
    def flag(self) -> str:
        """The option as typed: `--debug-rounds`."""
        return f"--{self.name}"

    @property
    def dest(self) -> str:
        """Attribute in the parsed namespace: `debug_rounds`."""
        return self.name.replace("-", "_")

    def help_at(self, place: Place) -> str:
        """Return the help text for this place."""
        return (self.command_help if place == "command" else "") or self.help

    def choices_at(self, place: Place) -> tuple[str, ...]:
        """Return the choices available in this place."""
        refused = dict(self.refused) if place == "command" else {}
        return tuple(choice for choice in self.choices if choice not in refused)


_MAGIC: tuple[Place, ...] = ("magic",)

OPTIONS: tuple[Option, ...] = (
    Option("model", "model name at the endpoint, or `offline`", metavar="M", section="endpoint", field="model"),
    Option("base-url", "OpenAI-compatible endpoint", metavar="URL", section="endpoint", field="base_url"),
    Option(
        "preset",
        "how thoroughly to explore, unless set by other options (standard)",
        "choice",
        choices=("quick", "standard", "thorough"),
        section="exploration",
        field="preset",
    ),
    Option("candidates", "snippets per subtask (5)", "whole", "m", section="exploration", field="candidates"),
    Option("subtasks", "maximum number of subtasks (8)", "whole", "n", section="exploration", field="subtasks"),
    Option(
        "debug-rounds",
        "repair rounds when all candidates of a subtask fail (2)",
        "whole",
        "r",
        section="exploration",
        field="debug_rounds",
    ),
    Option(
        "review",
        "pause after planning, so that you can change the plan before anything runs",
        "flag",
        section="exploration",
        field="review",
        places=_MAGIC,
    ),
    Option("use", "variables of this kernel that experiments may see", "names", "NAME", places=_MAGIC),
    Option(
        "state",
        "where experiments start: `live`, in a fork of this kernel, with all its variables; `fresh`, in a new kernel, "
        "with those of --use; `auto`, live unless something prevents it (auto)",
        "choice",
        choices=("auto", "live", "fresh"),
        section="sandbox",
        field="state",
        refused=(("live", "works only in notebooks: there is no live kernel on the command line"),),
        command_help="where experiments start: always in a fresh kernel (auto)",
    ),
    Option(
        "pickle",
        "allow sending variables of --use to a fresh kernel as pickles, where nothing else works",
        "flag",
        section="sandbox",
        field="pickle",
        places=_MAGIC,
    ),
    Option("check", "what the solution must pass: a file, or Python such as `assert f(1) == 2`", metavar="TEST"),
    Option(
        "tests",
        "run the solution on inputs that the model generates, let it judge the outputs, and correct the solution",
        "flag",
        section="exploration",
        field="tests",
    ),
    Option("name", "name of the function that the solution defines", metavar="SOLUTION_FUNCTION"),
    Option(
        "share",
        "how much of the experiments' output is sent to the model's endpoint (values)",
        "choice",
        choices=("values", "schema", "none"),
        section="endpoint",
        field="share",
    ),
    Option("timeout", "seconds for one execution (60)", "number", "S", section="exploration", field="timeout"),
    Option("budget-tokens", "maximum number of tokens (200000)", "whole", "N", section="budget", field="tokens"),
    Option("budget-seconds", "maximum time in seconds (900)", "number", "S", section="budget", field="seconds"),
    Option(
        "docs",
        "documentation in addition to the library's own, or of a library that is not installed: a file, a folder or a "
        ".zip of Markdown, reST, HTML, notebooks, objects.inv, OpenAPI or signatures; can be repeated",
        "paths",
        "PATH",
        section="retrieval",
        field="docs",
    ),
    Option(
        "workspace",
        "search the notebook's code and the Python, Markdown and notebook files next to it for help",
        "flag",
        section="retrieval",
        field="workspace",
        command_help="search the Python, Markdown and notebook files of this folder for help",
    ),
    Option(
        "web",
        "search the web too: ddgs (DuckDuckGo), the URL of a SearXNG server, a URL that contains {query}, or a folder "
        "of saved pages (off)",
        metavar="WHERE",
        section="retrieval",
        field="web",
    ),
    Option(
        "embedding-folder",
        "embed documentation with the sentence-transformers or model2vec model in this folder, on this machine",
        metavar="FOLDER",
        section="retrieval",
        field="embedding_folder",
    ),
    Option(
        "no-snippets",
        "do not use code from earlier explorations, and do not store any for later ones",
        "flag",
        section="retrieval",
        field="snippets",
        negates=True,
    ),
    Option(
        "isolation",
        "best: the strongest isolation available; require: refuse to run without full isolation (best)",
        "choice",
        choices=("best", "require"),
        section="sandbox",
        field="isolation",
    ),
    Option(
        "allow-read",
        "a file or folder in your home folder that experiments may read, besides this project; can be repeated",
        "paths",
        "PATH",
        section="sandbox",
        field="allow_read",
    ),
    Option("network", "let experiments access the network", "flag", section="sandbox", field="network"),
    Option("kernel", "kernelspec to explore in", metavar="KERNELSPEC", section="sandbox", field="kernel"),
    Option(
        "python",
        "interpreter to explore in, if no kernelspec is given; it needs ipykernel",
        metavar="PATH",
        section="sandbox",
        field="python",
    ),
    Option(
        "gateway",
        "remote Jupyter Server or Kernel Gateway that runs the experiments",
        metavar="URL",
        section="sandbox",
        field="gateway",
    ),
    Option(
        "show",
        "which candidates get cells in the trace (all)",
        "choice",
        choices=("all", "selected", "none"),
        section="view",
        field="show",
    ),
    Option(
        "keep-files",
        "keep the files that the solution wrote, next to the trace",
        "flag",
        section="view",
        field="keep_files",
    ),
    Option(
        "no-prompts",
        "omit prompts from the trace; replies are stored, so that the trace can be replayed",
        "flag",
        section="view",
        field="prompts",
        negates=True,
    ),
    Option(
        "no-history",
        "do not add this run to the history",
        "flag",
        section="history",
        field="keep",
        negates=True,
    ),
    Option("out", "path of the trace notebook", metavar="TRACE", section="view", field="out"),
    Option(
        "resume",
        "resume a run that was cut off or found no solution; TRACE is needed only outside the cell of that run",
        "maybe",
        "TRACE",
        command_help="resume the run of this trace (notebook or journal), which was cut off or found no solution",
    ),
    Option(
        "from",
        "with --resume: continue from this candidate of the trace (2.3), explore this subtask again (2), or try the "
        "solution again (solution)",
        metavar="CELL",
    ),
    Option("hint", "with --resume: a hint for the model, for what is explored first", metavar="TEXT"),
    Option(
        "replay",
        "replay the run of this trace with its recorded replies, without a model; the only other options allowed are "
        "--delay, --out, --kernel and --wait",
        metavar="TRACE",
        places=_MAGIC,
    ),
    Option(
        "delay",
        "with --replay: delay the replies as recorded (none)",
        "choice",
        choices=("recorded", "none"),
        places=_MAGIC,
    ),
    Option("wait", "block until the run ends instead of running in the background", "flag", places=_MAGIC),
)

READING_OPTIONS = ("docs", "embedding-folder", "base-url", "isolation", "allow-read", "kernel", "python", "gateway")
"""Options that determine how libraries are read; a search takes them too."""


class OptionParser(argparse.ArgumentParser):
    """An argument parser without abbreviations whose errors are UsageErrors with one plain sentence."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as a sentence, with a suggestion for a misspelled word.

        Raises:
            UsageError: always.
        """
        unknown, known = self._unknown(message)
        see = f"See `{self.prog}{'?' if self.prog.startswith('%') else ' --help'}` for the {self._help_subject()}."
        raise UsageError(_to_sentence(message), remedy=f"{did_you_mean(unknown, known)}{see}")

    def _unknown(self, message: str) -> tuple[str, list[str]]:
        """Return the unknown word in argparse's message, and the words that are allowed in its place."""
        if choice := _CHOICE.search(message):
            return choice["unknown"], re.findall(r"[\w.-]+", choice["known"])
        if taken := _EXPECTED.search(message):
            return taken["unknown"], taken["known"].split(", ")
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        return next(_unrecognized_options(message), ""), flags

    def _help_subject(self) -> str:
        return "commands" if self._subparsers else "options"


_CHOICE = re.compile(r"invalid choice: '(?P<unknown>.*)' \(choose from (?P<known>.*)\)$", re.DOTALL)
_EXPECTED = re.compile(r"takes (?P<known>.*), not '(?P<unknown>.*)'$", re.DOTALL)


_UNRECOGNIZED = "unrecognized arguments: "
_REPHRASED = {"expected one argument": "needs a value", "expected at least one argument": "needs at least one value"}

_INVALID_NUMBER = re.compile(r"invalid (int|float) value: ('.*')$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}


def _to_sentence(message: str) -> str:
    """Rewrite argparse's message as a sentence."""
    if choice := _CHOICE.search(message):
        if message.startswith("argument COMMAND"):
            return f"There is no command {choice['unknown']!r}."
        known = choice["known"].replace("'", "")
        message = f"{message[: choice.start()]}takes {known}, not {choice['unknown']!r}"
    if message.startswith(_UNRECOGNIZED):
        flag = next(_unrecognized_options(message), "")
        return f"There is no option {flag}." if flag else f"Unexpected argument: {message.removeprefix(_UNRECOGNIZED)}."
    message = _INVALID_NUMBER.sub(lambda bad: f"takes {_NUMBERS[bad[1]]}, not {bad[2]}", message)
    sentence = re.sub(r"^argument (\S+?)(/\S+)?: ", r"\1 ", message)
    for old, new in _REPHRASED.items():
        sentence = sentence.replace(old, new)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _unrecognized_options(message: str) -> Iterator[str]:
    """Yield the options in argparse's message about unrecognized arguments."""
    words = message.removeprefix(_UNRECOGNIZED).split() if message.startswith(_UNRECOGNIZED) else []
    yield from (word.partition("=")[0] for word in words if word.startswith("-"))


def add_reading_options(parser: argparse.ArgumentParser, *, place: Place) -> None:
    """Add the options that a search takes too: they determine where and how libraries are read."""
    for option in OPTIONS:
        if place in option.places and option.name in READING_OPTIONS:
            _add_option(parser, option, place)


def add_options(parser: argparse.ArgumentParser, *, place: Place) -> None:
    """Add all options of this place; options that are not given are `None` in the namespace."""
    for option in OPTIONS:
        if place in option.places:
            _add_option(parser, option, place)


def settings_layer(namespace: argparse.Namespace) -> dict[str, dict[str, JsonValue]]:
    """Return the given settings as a layer for `settings.resolve`."""
    return nest_settings({option.dest: getattr(namespace, option.dest, None) for option in OPTIONS})


def nest_settings(values: Mapping[str, JsonValue]) -> dict[str, dict[str, JsonValue]]:
    """Build a settings layer from values by destination name; `None` means not given, unknown names are ignored."""
    found: dict[str, dict[str, JsonValue]] = {}
    for option in OPTIONS:
        value = values.get(option.dest)
        if option.section and value is not None:
            found.setdefault(option.section, {})[option.field] = not value if option.negates else value
    return found


def validate_resume_options(namespace: argparse.Namespace) -> None:
    """Check that `--from` and `--hint` are given only with `--resume`.

    Raises:
        UsageError: one of them is given without --resume.
    """
    for name in ("from", "hint"):
        if getattr(namespace, name) is not None and namespace.resume is None:
            raise UsageError(f"--{name} requires --resume.", remedy="Add --resume, with the trace to resume.")


def read_check_text(value: str) -> str:
    """Return the text of the check: the content of the file that `value` names, or `value` itself.

    Raises:
        UsageError: the value looks like a file name but there is no such file, or the file is not readable text.
    """
    try:
        is_file = Path(value).is_file()
    except (OSError, ValueError):  # too long for a path, or contains a NUL: it is text
        return value
    if is_file:
        return _read(Path(value))
    if re.fullmatch(r"\S+\.(py|txt|md|rst)", value):
        raise UsageError(
            f"The check file {value!r} does not exist.", remedy="Give a file, or Python such as `assert ...`."
        )
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The check file {str(path)!r} cannot be read: {error}.") from error


def _add_option(parser: argparse.ArgumentParser, option: Option, place: Place) -> None:
    if option.kind == "flag":
        parser.add_argument(option.flag, action="store_true", default=None, help=option.help_at(place))
    elif option.kind == "names":
        parser.add_argument(
            option.flag, nargs="+", action="extend", metavar=option.metavar, default=None, help=option.help_at(place)
        )
    elif option.kind == "paths":
        parser.add_argument(
            option.flag, action="append", metavar=option.metavar, default=None, help=option.help_at(place)
        )
    elif option.kind == "maybe" and place == "magic":
        parser.add_argument(option.flag, nargs="?", const="", metavar=option.metavar, help=option.help_at(place))
    else:
        shown = option.metavar or "|".join(option.choices_at(place))
        parser.add_argument(
            option.flag, type=_value_parser(option, place), metavar=shown, default=None, help=option.help_at(place)
        )


def _value_parser(option: Option, place: Place) -> Callable[[str], Scalar]:
    if option.kind == "whole":
        return lambda text: _parse_number(int, text, "a whole number")
    if option.kind == "number":
        return lambda text: _parse_number(float, text, "a number")
    if option.kind == "choice":
        return lambda text: _parse_choice(option, place, text)
    return str


def _parse_number(read: Callable[[str], int | float], text: str, what: str) -> int | float:
    try:
        return read(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes {what}, not {text!r}") from None


def _parse_choice(option: Option, place: Place, text: str) -> str:
    offered = option.choices_at(place)
    if text in option.choices and text not in offered:
        raise argparse.ArgumentTypeError(f"{text} {dict(option.refused)[text]}")
    if text not in offered:
        raise argparse.ArgumentTypeError(f"takes {', '.join(offered)}, not {text!r}")
    return text
