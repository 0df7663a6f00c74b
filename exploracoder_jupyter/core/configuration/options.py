"""Parses the options of commands and magics, and states those of a run."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, get_args, get_origin

from exploracoder_jupyter.core.configuration.setting_annotations import Kind, Option, Place
from exploracoder_jupyter.core.configuration.settings import SettingField, setting_fields
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import did_you_mean
from exploracoder_jupyter.core.platforms import system

if TYPE_CHECKING:
    from pydantic import JsonValue


# Parses the options of commands and magics; a wrong one raises one plain sentence with a suggestion.
#
# Keep imports light: `%load_ext` imports this module.

_CHOICE = re.compile(r"invalid choice: '(?P<unknown>.*)' \(choose from (?P<known>.*)\)$", re.DOTALL)
_EXPECTED = re.compile(r"takes (?P<known>.*), not '(?P<unknown>.*)'$", re.DOTALL)
_UNRECOGNIZED = "unrecognized arguments: "
_REPHRASED = {"expected one argument": "needs a value", "expected at least one argument": "needs at least one value"}
_INVALID_NUMBER = re.compile(r"invalid (int|float) value: ('.*')$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}


class OptionParser(argparse.ArgumentParser):
    """An argument parser without abbreviations whose errors are UsageErrors with one plain sentence."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; with `--repo` the flag `--tests` may have a value, which selects the tests."""
        given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(_with_test_selector(given), namespace)

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as a UsageError, with a suggestion for a misspelled word."""
        unknown, known = self._unknown(message)
        subject = "commands" if self._subparsers else "options"
        see = f"See `{self.prog}{'?' if self.prog.startswith('%') else ' --help'}` for the {subject}."
        raise UsageError(_to_sentence(message), remedy=f"{did_you_mean(unknown, known)}{see}")

    def _unknown(self, message: str) -> tuple[str, list[str]]:
        """Return the unknown word in argparse's message, and the words that are allowed in its place."""
        if choice := _CHOICE.search(message):
            return choice["unknown"], re.findall(r"[\w.-]+", choice["known"])
        if taken := _EXPECTED.search(message):
            return taken["unknown"], taken["known"].split(", ")
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        return next(_unrecognized_options(message), ""), flags


def positive(text: str) -> int:
    """Parse the value of an option that takes a whole number from 1."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"takes a whole number of at least 1, not {text!r}")


def _with_test_selector(words: list[str]) -> list[str]:
    """Return the arguments with `--test-selector` in place of a `--tests` that has a value, if there is a `--repo`."""
    if not any(word == "--repo" or word.startswith("--repo=") for word in words):
        return words
    following = [*words[1:], "-"]
    return [
        f"--test-selector{word[len('--tests') :]}"
        if word.startswith("--tests=") or (word == "--tests" and not after.startswith("-"))
        else word
        for word, after in zip(words, following, strict=True)
    ]


def _to_sentence(message: str) -> str:
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
    words = message.removeprefix(_UNRECOGNIZED).split() if message.startswith(_UNRECOGNIZED) else []
    yield from (word.partition("=")[0] for word in words if word.startswith("-"))


# The options of a run, for `%%explora` and `jupyter explora run`: those of the table of settings, and a few others.
#
# Parsers, help, completion and the settings layer are computed from them. Keep imports light: `%load_ext` imports
# this module.

_MAX_VALUE_LINES = 200
"""Lines that one quoted value of a `%%explora` line may span."""

_MAGIC: tuple[Place, ...] = ("magic",)

_OTHER_OPTIONS = (
    Option(
        "use",
        "variables of this kernel that the model learns about, besides those that the task names; in a fresh kernel, "
        "experiments have copies of them",
        "names",
        "NAME",
        places=_MAGIC,
    ),
    Option("check", "what the solution must pass: a file, or Python such as `assert f(1) == 2`", metavar="TEST"),
    Option("setup", "code that makes the variables of which the task speaks: a file, or Python", metavar="CODE"),
    Option(
        "repo",
        "write code for the repository in this folder instead of exploring a library; its files change only when you "
        "apply the patch",
        metavar="PATH",
    ),
    Option("target", "with --repo: what to write, as FILE::NAME; a class, function or method", metavar="FILE::NAME"),
    Option(
        "test-selector",
        "with --repo: the tests of the target, as pytest takes them (all tests); `--tests SELECTOR` does the same",
        "paths",
        "SELECTOR",
    ),
    Option("test-command", "with --repo: a shell command that tests the target, instead of pytest", metavar="COMMAND"),
    Option("name", "name of the function that the solution defines", metavar="SOLUTION_FUNCTION"),
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
"""Options of the task and of the front end, which are not settings."""

_ORDER = (
    "model base-url repo target test-selector test-command effort strategy preset candidates subtasks debug-rounds "
    "review use state pickle check setup tests name share timeout budget-tokens budget-seconds budget-cost docs "
    "workspace web embedding-folder no-snippets isolation allow-read network kernel python gateway show keep-files "
    "no-prompts no-history out resume from hint replay delay wait"
)
"""Names of the options in the order of the help; others follow."""

_KINDS: dict[object, Kind] = {bool: "flag", int: "whole", float: "number", Literal: "choice", tuple: "paths"}


def _option_of(row: SettingField, option: Option) -> Option:
    kind = option.kind or _KINDS.get(get_origin(row.type) or row.type, "text")
    default = f"{row.default:g}" if isinstance(row.default, float) else row.default
    # the help ends with the default value unless it is none or 0, or says that a list is given by repetition
    end = "" if not row.default or isinstance(row.default, bool) else f" ({default})"
    end = "; can be repeated" if row.default == () else end
    return replace(
        option,
        name=option.name or row.name.replace("_", "-"),
        help=f"{option.help or row.setting.meaning}{end}",
        kind=kind,
        choices=get_args(row.type) if kind == "choice" else (),
        section=row.section,
        field=row.name,
        command_help=option.command_help and f"{option.command_help}{end}",
    )


def _rank(option: Option) -> int:
    names = _ORDER.split()
    return names.index(option.name) if option.name in names else len(names)


OPTIONS: Final = tuple(
    sorted((*(_option_of(row, row.option) for row in setting_fields() if row.option), *_OTHER_OPTIONS), key=_rank)
)


def split_call(line: str, cell: str) -> tuple[str, str]:
    """Split a cell into the line of `%%explora` and the task: a quoted value on the line may span several lines.

    A line whose quotes are not closed is returned as it is, so that its parser reports the error.
    """
    rows = cell.splitlines(keepends=True)
    for end in range(min(len(rows), _MAX_VALUE_LINES) + 1):
        call = f"{line}\n{''.join(rows[:end])}" if end else line
        with suppress(ValueError):
            system.split_words(call)
            return call, "".join(rows[end:])
    return line, cell


def add_options(
    parser: argparse.ArgumentParser,
    *,
    place: Place,
    sections: Collection[str] | None = None,
    without: Collection[str] = (),
    reading: bool = False,
) -> None:
    """Add the options of this place; options that are not given are `None` in the namespace.

    Only those of the settings in these `sections`, except those `without` which the command does; or only those
    that determine where and how libraries are read (`reading`), which a search takes too.
    """
    for option in OPTIONS:
        is_taken = (sections is None or option.section in sections) and (option.reading or not reading)
        if place in option.places and is_taken and option.name not in without:
            _add_option(parser, option, place)


def settings_layer(namespace: argparse.Namespace) -> dict[str, dict[str, JsonValue]]:
    """Return the given settings as a layer for `sources.resolve`."""
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
    """Check that `--from` and `--hint` are given only with `--resume`."""
    for name in ("from", "hint"):
        if getattr(namespace, name) is not None and namespace.resume is None:
            raise UsageError(f"--{name} requires --resume.", remedy="Add --resume, with the trace to resume.")


def validate_repository_options(namespace: argparse.Namespace, libraries: Collection[str]) -> None:
    """Check that what belongs to `--repo` is given only with it, and a target always."""
    if namespace.repo is None:
        for name in ("target", "test_selector", "test_command"):
            if getattr(namespace, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} requires --repo.", remedy="Add --repo PATH.")
        return
    if namespace.target is None:
        raise UsageError("--repo requires --target.", remedy="For example: --target src/shop/cart.py::Cart")
    if libraries or namespace.check or namespace.name or namespace.setup:
        raise UsageError(
            "Libraries, --check, --name and --setup cannot be used with --repo, whose tests decide.",
            remedy="Omit them.",
        )
    if namespace.test_selector and namespace.test_command:
        raise UsageError("--tests and --test-command cannot be used together.", remedy="Give only one of them.")
    if not Path(namespace.repo).is_dir():
        raise UsageError(f"There is no folder {namespace.repo!r}.", remedy="Name the folder of the repository.")


def _add_option(parser: argparse.ArgumentParser, option: Option, place: Place) -> None:
    how: dict[str, Any] = {"metavar": option.metavar}
    match option.kind:
        case "flag":
            how = {"action": "store_true"}
        case "names":
            how |= {"nargs": "+", "action": "extend"}
        case "paths":
            how |= {"action": "append"}
        case "maybe" if place == "magic":
            how |= {"nargs": "?", "const": ""}
        case "choice":
            shown = option.metavar or "|".join(option.choices_at(place))
            how = {"metavar": shown, "type": lambda text: _parse_choice(option, place, text)}
        case "whole":
            how["type"] = int
        case "number":
            how["type"] = float
    parser.add_argument(option.flag, default=None, help=option.help_at(place), **how)


def _parse_choice(option: Option, place: Place, text: str) -> str:
    offered = option.choices_at(place)
    if text in option.choices and text not in offered:
        raise argparse.ArgumentTypeError(f"{text} {dict(option.refused)[text]}")
    if text not in offered:
        raise argparse.ArgumentTypeError(f"takes {', '.join(offered)}, not {text!r}")
    return text
