"""Writes results to standard output and progress to standard error, and ends when nobody reads them any more."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.text.characters import printable, without_controls

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.console import RenderableType
    from rich.syntax import Syntax

    from exploracoder_jupyter.evaluation.scheduling import Progress


# Writes to standard output and standard error of the command.
#
# Standard output contains only the result: text, or one JSON object. A closed pipe (`| head`) is not an error: the
# stream is redirected to the null device and the command continues to its end. Text from libraries, models and
# outputs is sanitized before it is written, because a terminal would interpret its control characters, also behind
# a pipe.


def print_result(text: str) -> None:
    """Print a line of the result on standard output, without control characters."""
    write_line(sys.stdout, printable(text) if sys.stdout.isatty() else without_controls(text))


def print_code(code: str, language: str = "python") -> None:
    """Print code as part of the result, highlighted on a terminal."""
    if not sys.stdout.isatty():
        return print_result(code)
    from rich.console import Console

    screen = Console(file=sys.stdout)
    with screen.capture() as captured:
        screen.print(highlighted(code, language))
    write_line(sys.stdout, captured.get().rstrip("\n"))


def highlighted(code: str, language: str = "python") -> Syntax:
    """Return code for rich in the terminal's own colours: its background may be dark or light."""
    from rich.syntax import Syntax

    return Syntax(printable(code), language, theme="ansi_dark", background_color="default", word_wrap=True)


def print_note(text: str) -> None:
    """Print a line on standard error, separate from the result."""
    write_line(sys.stderr, printable(text))


def print_json(value: JsonValue) -> None:
    """Print the JSON object of `--json` on standard output."""
    write_line(sys.stdout, json.dumps(value, indent=2))


def print_error(error: ExploraError, *, as_json: bool) -> None:
    """Print an error as one plain sentence on standard error.

    With `--json`, also print an object on standard output with the error and the summary of the run that it ended.
    """
    print_note(f"jupyter explora: {' '.join(str(error).split())}")
    if as_json:
        print_json({**error.summary, "error": error.message, "remedy": error.remedy})


def write_line(stream: TextIO, text: str) -> None:
    """Write the text with a line break and flush; characters that the stream cannot encode are replaced."""
    try:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8") + "\n")
        stream.flush()
    except BrokenPipeError:
        redirect_to_devnull(stream)


def flush(stream: TextIO) -> None:
    """Flush what others, such as argparse, have printed, so that a closed pipe is handled here and not at exit."""
    try:
        stream.flush()
    except BrokenPipeError:
        redirect_to_devnull(stream)


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that neither later writes nor the interpreter's final flush raise."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


# Displays the progress of a slow operation on standard error: one changing line on a terminal, else some lines.

_LINES = 20
"""Number of lines about an evaluation without a terminal."""
_STEP = 1000
"""Number of APIs between two lines of progress if the total is unknown."""


@contextmanager
def show_progress(initial: str) -> Iterator[Callable[[str, int, int], None]]:
    """Provide a function that reports progress; the changing line starts as `initial`.

    Lines are written at most once per tenth of a step, or per thousand items if the total is unknown.
    """
    last = ("", -1)

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        part = (what, 10 * done // total if total else done // _STEP)
        if update or part != last:
            last = part
            (update or print_note)(_format_step(what, done, total))

    with _changing_line(initial) as update:
        yield show


@contextmanager
def show_evaluation() -> Iterator[Callable[[Progress], None]]:
    """Provide a function that displays the progress of an evaluation."""

    def show(progress: Progress) -> None:
        is_due = progress.done == progress.total or progress.done % max(progress.total // _LINES, 1) == 0
        if update or is_due:
            (update or print_note)(format_progress(progress))

    with _changing_line("Reading the problems") as update:
        yield show


@contextmanager
def _changing_line(initial: str) -> Iterator[Callable[[str], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(initial) as status:
        yield lambda text: status.update(Text(printable(text)))


def _format_step(what: str, done: int, total: int) -> str:
    if total:
        return f"{what} ({done:,} of {total:,})"
    return f"{what} ({plural(done, 'API')})" if done else what


def format_progress(progress: Progress) -> str:
    """Return one line: what is done, what it cost, and an estimate of what is left."""
    parts = [
        f"{progress.done:,} of {plural(progress.total, 'unit')}",
        f"{progress.solved:,} solved",
        f"{progress.failed:,} failed",
        plural(progress.tokens, "token"),
    ]
    if progress.cost:
        parts.append(f"cost {progress.cost:,.2f}")
    left = []
    if progress.seconds_left is not None:
        left.append(str(timedelta(seconds=round(progress.seconds_left))))
    if progress.tokens_left is not None:
        left.append(plural(progress.tokens_left, "token"))
    if left and progress.done < progress.total:
        parts.append(f"left: about {', '.join(left)}")
    return " · ".join(parts)


# Prints search results: as plain lines, or styled on a terminal.
#
# Plain standard output contains only results; then the summary of the search goes to standard error.

Row = Mapping[str, Any]
"""The object of `search --json`, or one of its results."""

_MAX_SUMMARY = 100
_MAX_DETAIL = 160


def print_results(answer: Row, *, details: bool) -> None:
    """Print the results; `details` adds the parameters and the first example of each."""
    if sys.stdout.isatty():
        _print_styled(answer, details=details)
        return
    print_note(search_summary(answer))
    print_result("\n".join(_format_plain(row, details=details) for row in answer["results"]) or "Nothing was found.")


def search_summary(answer: Row) -> str:
    """Summarize the search, e.g. `networkx 3.6.1: 1,242 APIs, searched in 0.3 s`."""
    libraries = ", ".join(f"{row['name']} {row['version']}".strip() for row in answer["libraries"])
    fresh = [row["name"] for row in answer["libraries"] if not row["cached"]]
    how = f"read and searched in {answer['seconds']:.1f} s" if fresh else f"searched in {answer['seconds']:.1f} s"
    return f"{libraries}: {plural(answer['apis'], 'API')}, {how}"


def _format_plain(row: Row, *, details: bool) -> str:
    lines = [f"{row['path']}{row['signature']}"]
    if summary := one_line(row["description"], _MAX_SUMMARY):
        lines.append(f"    {summary}")
    if details:
        lines += [f"    {'  '.join(filter(None, detail))}" for detail in _details(row)]
        lines += [textwrap.indent(code, "        ") for code in row["examples"][:1]]
    return "\n".join(lines)


def _details(row: Row) -> Iterator[tuple[str, str]]:
    if row["deprecated"]:
        yield "Deprecated:", one_line(row["deprecated"], _MAX_DETAIL)
    for parameter in row["parameters"]:
        if parameter["type"] or parameter["about"]:
            yield one_line(_format_parameter(parameter), _MAX_DETAIL), one_line(parameter["about"], _MAX_DETAIL)
    if row["returns"]:
        yield "Returns:", one_line(row["returns"], _MAX_DETAIL)


def _format_parameter(parameter: Mapping[str, str]) -> str:
    kind = f": {parameter['type']}" if parameter["type"] else ""
    default = f" = {parameter['default']}" if parameter["default"] else ""
    return f"{parameter['name']}{kind}{default}"


def _print_styled(answer: Row, *, details: bool) -> None:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    screen = Console(file=sys.stdout)
    results = Table.grid(padding=(0, 1))
    for number, row in enumerate(answer["results"], 1):
        results.add_row(Text(f"{number}.", "dim", justify="right"), Group(*_format_styled(row, details=details)))
    with screen.capture() as captured:
        screen.print(Text(printable(search_summary(answer)), "dim"))
        screen.print(results if answer["results"] else "Nothing was found.")
    write_line(sys.stdout, captured.get().rstrip("\n"))


def _format_styled(row: Row, *, details: bool) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    head = Text.assemble((printable(row["path"]), "bold"), (printable(row["signature"]), "cyan"))
    yield head.append("  deprecated", "yellow") if row["deprecated"] else head
    if row["description"]:
        yield Text(printable(" ".join(row["description"].split())))
    if details:
        yield from (Text.assemble(printable(label), "  ", (printable(text), "dim")) for label, text in _details(row))
        for code in row["examples"][:1]:
            yield Padding(highlighted(code), (0, 0, 1, 3))


# Ends a search when the process that started it is gone, e.g. the kernel.
#
# Standard error is then a pipe without a reader, which `poll` reports.

_STDERR = 2
_POLL_MS = 500
_GRACE = 3.0
"""Seconds for a clean exit after the interrupt, before this process exits at once."""


@contextmanager
def interrupt_on_broken_pipe() -> Iterator[None]:
    """Interrupt this process when standard error loses its reader.

    Does nothing if standard error is not a pipe, has no reader from the beginning, or if the system has no `poll`.
    """
    if not _has_reader():
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(over,), daemon=True, name="broken-pipe-watchdog").start()
    try:
        yield
    finally:
        over.set()


def _watch(over: threading.Event) -> None:
    while not over.is_set():
        if _loses_reader(_POLL_MS):
            os.kill(os.getpid(), signal.SIGINT)
            if not over.wait(_GRACE):
                os._exit(128 + signal.SIGINT)


def _has_reader() -> bool:
    try:
        return hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(_STDERR).st_mode) and not _loses_reader(0)
    except OSError:  # it is closed
        return False


def _loses_reader(milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(_STDERR, 0)
    return bool(poll.poll(milliseconds))
