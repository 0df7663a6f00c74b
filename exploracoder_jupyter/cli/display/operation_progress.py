"""Displays the progress of a slow operation on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exploracoder_jupyter.cli.display.standard_streams import print_note
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.text.terminal_text import printable

_STEP = 1000
"""Number of APIs between two lines of progress if the total is unknown."""


@contextmanager
def show_progress(initial: str) -> Iterator[Callable[[str, int, int], None]]:
    """Provide a function that reports progress: on a terminal in one changing line, which starts as `initial`."""
    if not sys.stderr.isatty():
        yield _ProgressLines()
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(initial) as status:
        yield lambda what, done, total: status.update(Text(printable(_format_step(what, done, total))))


class _ProgressLines:
    """Prints progress as lines, at most one per tenth of a step, or one per thousand items if the total is unknown."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def __call__(self, what: str, done: int, total: int) -> None:
        part = 10 * done // total if total else done // _STEP
        if (what, part) != self._last:
            self._last = (what, part)
            print_note(_format_step(what, done, total))


def _format_step(what: str, done: int, total: int) -> str:
    if total:
        return f"{what} ({done:,} of {total:,})"
    return f"{what} ({plural(done, 'API')})" if done else what
