"""Which files below the working directory a cell has written.

Folders with much in them, and those that take long time and again, are given up on and not looked at any more: it must
not cost anything to speak of.
"""

from __future__ import annotations

import os
import time
from collections import Counter

from exploracoder_jupyter.kernel_agent.confinement.written_archive import CACHES, States, states

_PASSED_OVER = CACHES | {".git"}
_MOST_ENTRIES = 2_000
_MOST_TOLD = 60
_SECONDS = 0.05
_MOST_LATE = 2
"""Looks that take too long. A single one tells more of the machine than of the folder."""


class Touched:
    """Watches the working directory, a cell at a time."""

    def __init__(self) -> None:
        self._folder = ""
        self._before: States | None = None
        self._given_up: set[str] = set()
        self._late: Counter[str] = Counter()

    def begin(self) -> None:
        """Look at what is there."""
        try:
            self._folder = os.getcwd()
        except OSError:  # it was removed
            self._folder = ""
        self._before = self._look()

    def end(self) -> list[str]:
        """Files that were written since; none where the folder has too much in it."""
        after = self._look() if self._before is not None else None
        if after is None or self._before is None:
            return []
        return sorted(path for path, state in after.items() if self._before.get(path) != state)[:_MOST_TOLD]

    def _look(self) -> States | None:
        if not self._folder or self._folder in self._given_up:
            return None
        try:
            return _look(self._folder)
        except TimeoutError:
            self._late[self._folder] += 1
            much = self._late[self._folder] >= _MOST_LATE
        except OverflowError:
            much = True
        if much:
            self._given_up.add(self._folder)
        return None


def _look(folder: str) -> States:
    """The regular files below the folder.

    Raises:
        OverflowError: there are too many entries.
        TimeoutError: it takes too long.
    """
    until, entries = time.monotonic() + _SECONDS, 0
    found: States = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        entries += len(folders) + len(names)
        if entries > _MOST_ENTRIES:
            raise OverflowError
        if time.monotonic() > until:
            raise TimeoutError
        found |= states(folder, parent, names)
    return found
