"""`%explora search`: parses its line and runs the search in a process of its own."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from IPython.display import DisplayHandle, display

from exploracoder_jupyter.core.configuration.options import OPTIONS, OptionParser, add_options, settings_layer
from exploracoder_jupyter.core.configuration.setting_annotations import Option
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.validation import ValidationError
from exploracoder_jupyter.ipython_extension.running.engine import engine_interpreter, with_this_interpreter
from exploracoder_jupyter.ipython_extension.searching.search_results import Results, parse_results
from exploracoder_jupyter.ipython_extension.tab_completion import installed_names
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.text.characters import escape_html

# Runs a search in a separate process: reports its progress, parses its output and ends it.
#
# The process has its own session, so that an interrupt reaches it only once, from here. It then ends its own child
# processes.

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds that the process may take to end after an interrupt before it is killed."""


def run_search(command: Sequence[str], *, on_progress: Callable[[str], None]) -> Results:
    """Run the search command and return its results; see `run_command`."""
    return run_command(command, parse_results, on_progress=on_progress)


def run_command(command: Sequence[str], parse: Callable[[bytes], T], *, on_progress: Callable[[str], None]) -> T:
    """Run a command and return what `parse` makes of its output; `on_progress` is called with each step reported.

    `parse` raises ValidationError for what it cannot read. After an interrupt all processes of the command
    have ended.
    """
    with tempfile.TemporaryFile() as output:
        process = _start(command, output.fileno())
        try:
            last = ""
            for line in process.stderr or ():
                if message := line.strip():
                    last = message
                    on_progress(message)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stderr:
                process.stderr.close()
        output.seek(0)
        return _parse_output(output.read(), parse, status=status, last=last)


def _start(command: Sequence[str], output: int) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            **system.NEW_SESSION,
        )
    except OSError as error:
        raise MissingRequirement(
            f"The search cannot be started with {command[0]!r}: {error.strerror}.",
            remedy="Check engine_python in `%explora config`.",
        ) from error


def _parse_output(body: bytes, parse: Callable[[bytes], T], *, status: int, last: str) -> T:
    try:
        return parse(body)
    except ValidationError:
        pass
    with suppress(ValueError, KeyError, TypeError):
        error_report = json.loads(body)
        raise UsageError(error_report["error"], remedy=error_report["remedy"])
    raise ExploraError(
        f"The search ended without an answer (exit status {status}).", remedy=f"Its last output: {last[:300]}"
    )


def _end(process: subprocess.Popen[str]) -> None:
    system.interrupt(process)
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(PATIENCE)
        return
    import psutil

    with suppress(psutil.NoSuchProcess):
        processes = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for child in processes:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(processes, timeout=PATIENCE)
    process.wait()


# `%explora search`: parses its line, and runs the search with the command line in a separate process.

_QUIET = (
    "color:var(--jp-ui-font-color2, inherit);font-family:var(--jp-ui-font-family, sans-serif);"
    "font-size:var(--jp-ui-font-size1, 13px)"
)
_MAX_LENGTH = 120

_MAX_RESULTS = 1000
STOPPED = "The search was stopped before it found anything."
_EXAMPLE = "For example: %explora search networkx shortest path"


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """Where to search."""

    libraries: str
    """One name, or several separated by commas."""
    layer: Layer = field(default_factory=dict)
    """The settings given with them."""


class SearchRequest(NamedTuple):
    """One parsed line."""

    target: SearchTarget
    query: str
    k: int


class LibrarySearcher:
    """Searches for one shell, and remembers the libraries that were searched or explored last."""

    def __init__(self, *, jupyter: bool, configured: Callable[[], Layer]) -> None:
        """`jupyter`: outputs are messages, which can be updated; `configured` returns what `%config` has set."""
        self.last: SearchTarget | None = None
        self._configured = configured
        self._jupyter = jupyter

    def search(self, line: str) -> Results:
        """Execute the search on a line."""
        target, query, k = parse_search_line(line, self.last)
        layers = with_this_interpreter([target.layer, self._configured()])
        reading = command_options([option for option in OPTIONS if option.reading], layers)
        command = cli_command(layers, "search", "--json", "-k", str(k), *reading, "--", target.libraries, query)
        with command_progress(jupyter=self._jupyter, stopped=STOPPED) as progress:
            results = run_search(command, on_progress=progress.update)
            progress.news = _newly_read(results)
        self.last = target
        return results


def parse_search_line(line: str, last: SearchTarget | None) -> SearchRequest:
    """Parse the line of a search.

    The first word is the library if it ends with a colon, if an option sets how the library is read, or if nothing was
    searched before; otherwise if it is the name of an installed package that is not in the standard library, because
    `random walk` is a query. A word in double quotes belongs to the query. Without a library, `last` is searched.
    """
    parser = OptionParser(prog="%explora", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-k", type=int, default=10)
    add_options(parser, place="magic", reading=True)
    given = parser.parse_intermixed_args(split_words(line))
    if not 1 <= given.k <= _MAX_RESULTS:
        raise UsageError(
            f"-k takes a number from 1 to {_MAX_RESULTS}, not {given.k}.", remedy="Choose a number in this range."
        )
    settings = settings_layer(given)
    words: list[str] = given.words
    if not words:
        raise UsageError("The query is empty.", remedy=f"Describe what you are looking for. {_EXAMPLE}")
    quoted = f'"{words[0]}"' in line
    if last and (quoted or not (settings or _names_library(words[0], last))):
        return SearchRequest(last, _query(words), given.k)
    if quoted:
        raise UsageError("No library is named, and none was searched before.", remedy=_EXAMPLE)
    name = words[0].removesuffix(":")
    if not _query(words[1:]):
        problem = f"There is no query: what are you looking for in {name}?"
        if last and name != last.libraries:
            quote = f'to search for that word in {last.libraries}, put it in quotes: "{name}"'
            problem = f"There is no query for {name}; {quote}."
        raise UsageError(problem, remedy=_EXAMPLE)
    target = last if last and last.libraries == name and not settings else SearchTarget(name, settings)
    return SearchRequest(target, _query(words[1:]), given.k)


def _query(words: Sequence[str]) -> str:
    """Join the words, without the space that was inserted before a question mark to hide it from IPython."""
    return " ".join(words).strip().replace(" ?", "?")


def _names_library(word: str, last: SearchTarget) -> bool:
    """Whether the word, or all names in it separated by commas, names libraries as far as that is known here."""
    if word.endswith(":") or _installed(word, last):
        return True
    installed_names.cache_clear()  # it may have been installed since
    return _installed(word, last)


def _installed(word: str, last: SearchTarget) -> bool:
    known = {normalize_name(name) for name in (*installed_names(), *last.libraries.split(","))}
    return all(normalize_name(name.partition(".")[0]) in known for name in word.split(",") if name)


def split_words(line: str) -> list[str]:
    """Split a line into words; only double quotes group words, because queries contain apostrophes."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError("The %explora search line cannot be read.", remedy="Close every double quote.") from error


def cli_command(layers: Sequence[Layer], *words: str) -> list[str]:
    """Return the command of `jupyter explora` with these words, in the interpreter of the engine."""
    python = engine_interpreter(resolve(*layers).sandbox.engine_python)
    # `-P`: a file in the user's folder must not shadow one of our modules.
    return [python, "-P", "-m", "exploracoder_jupyter.cli", *words]


def command_options(options: Iterable[Option], layers: Sequence[Layer]) -> Iterator[str]:
    """Yield the settings made here as command options; the command reads the file and the environment itself."""
    for option in options:
        values = (given[option.field] for one in layers if option.field in (given := one.get(option.section, {})))
        value = next(values, None)
        several = value if isinstance(value, list | tuple) else [value]
        yield from (f"{option.flag}={one}" for one in several if one is not None)


def _newly_read(results: Results) -> str:
    """Return a sentence about the libraries that were read instead of taken from the cache, or an empty string."""
    names = [f"{library.name} {library.version}".strip() for library in results.libraries if not library.cached]
    were = "was" if len(names) == 1 else "were"
    return f"{', '.join(names)} {were} read; the results are cached for the next search." if names else ""


@contextmanager
def command_progress(*, jupyter: bool, stopped: str) -> Iterator[OutputProgress | LineProgress]:
    """Show the progress of a command, and at the end its `news`. Raises UsageError(stopped) at an interrupt.

    `jupyter`: outputs are messages, which can be updated.
    """
    progress = OutputProgress() if jupyter else LineProgress()
    try:
        yield progress
    except KeyboardInterrupt:
        raise UsageError(stopped) from None
    finally:
        progress.close(progress.news)


class OutputProgress:
    """An output of the cell, created at the first update."""

    news = ""
    """What to say when it is closed."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def update(self, text: str) -> None:
        """Replace the text that was shown before."""
        bundle = _bundle(f"{text[:_MAX_LENGTH]} …")
        if self._handle:
            self._handle.update(bundle, raw=True)  # type: ignore[no-untyped-call]
        else:
            self._handle = cast(DisplayHandle, display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    def close(self, text: str = "") -> None:
        """Replace the text by a final one, or remove it."""
        if self._handle:
            self._handle.update(_bundle(text), raw=True)  # type: ignore[no-untyped-call]


class LineProgress:
    """One line of a terminal; silent if standard output is not a terminal."""

    news = ""
    """Not shown: the line is removed when it is closed."""

    def __init__(self) -> None:
        self._width = 0

    def update(self, text: str) -> None:
        """Replace the text that was shown before."""
        self._write(f"{''.join(filter(str.isprintable, text))[: _MAX_LENGTH - 40]} ...")

    def close(self, text: str = "") -> None:
        """Remove the line."""
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        if sys.stdout.isatty():
            sys.stdout.write(f"\r{text:<{self._width}}{'' if text else chr(13)}")
            sys.stdout.flush()
            self._width = len(text)


def _bundle(text: str) -> dict[str, str]:
    html = f'<div style="{_QUIET}">{escape_html(text)}</div>' if text else ""
    return {"text/plain": text, "text/html": html}
