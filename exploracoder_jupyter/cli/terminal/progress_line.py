"""How far something is that takes its time, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exploracoder_jupyter.cli.terminal.standard_streams import note, plain
from exploracoder_jupyter.core.wording import plural

_STEP = 1000
"""APIs between two words of progress where it is not known how many there will be."""


@contextmanager
def progress(first: str) -> Iterator[Callable[[str, int, int], None]]:
    """Says what is being done: in one line that changes where a terminal shows it, which begins with `first`."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(first) as status:
        yield lambda what, done, total: status.update(Text(plain(_step(what, done, total))))


class _Lines:
    """Says each step in a line, at most once a tenth of it, or once a thousand where nobody knows of how many."""

    def __init__(self) -> None:
        self._said = ("", -1)

    def __call__(self, what: str, done: int, total: int) -> None:
        part = 10 * done // total if total else done // _STEP
        if (what, part) != self._said:
            self._said = (what, part)
            note(_step(what, done, total))


def _step(what: str, done: int, total: int) -> str:
    if total:
        return f"{what} ({done:,} of {total:,})"
    return f"{what} ({plural(done, 'API')})" if done else what
