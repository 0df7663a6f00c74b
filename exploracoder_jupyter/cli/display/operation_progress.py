"""Displays the progress of a slow operation on standard error: one changing line on a terminal, else some lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.display.standard_streams import print_note
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.text.terminal_text import printable

if TYPE_CHECKING:
    from exploracoder_jupyter.evaluation.scheduling.progress import Progress

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
