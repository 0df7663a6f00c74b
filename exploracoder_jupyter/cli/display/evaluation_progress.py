"""Displays the progress of an evaluation on standard error: one changing line on a terminal, else some lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.display.standard_streams import print_note
from exploracoder_jupyter.core.message_formatting import plural

if TYPE_CHECKING:
    from exploracoder_jupyter.evaluation.scheduling.progress import Progress

_LINES = 20
"""Number of lines without a terminal."""


@contextmanager
def show_evaluation() -> Iterator[Callable[[Progress], None]]:
    """Provide a function that displays progress."""
    if not sys.stderr.isatty():
        yield _show_some
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("Reading the problems") as status:
        yield lambda progress: status.update(Text(format_progress(progress)))


def _show_some(progress: Progress) -> None:
    if progress.done == progress.total or progress.done % max(progress.total // _LINES, 1) == 0:
        print_note(format_progress(progress))


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
