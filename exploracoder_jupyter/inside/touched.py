"""Which files below the working directory a cell has written.

Folders with much in them are given up on, and not looked at again: it must not cost anything to speak of.
"""

from __future__ import annotations

import os
import stat
import time

_CACHES = frozenset(["__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".git"])
_MOST_ENTRIES = 2_000
_MOST_TOLD = 60
_SECONDS = 0.05

States = dict[str, tuple[int, int]]
"""Size and time of change of each file, by relative path."""


class Touched:
    """Watches the working directory, a cell at a time."""

    def __init__(self) -> None:
        self._folder = ""
        self._before: States | None = None
        self._given_up: set[str] = set()

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
        found = _look(self._folder)
        if found is None:
            self._given_up.add(self._folder)
        return found


def _look(folder: str) -> States | None:
    """The regular files below the folder, unless there are too many entries or it takes too long."""
    until, entries = time.monotonic() + _SECONDS, 0
    found: States = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _CACHES]
        entries += len(folders) + len(names)
        if entries > _MOST_ENTRIES or time.monotonic() > until:
            return None
        for name in names:
            path = os.path.join(parent, name)
            try:
                state = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                found[os.path.relpath(path, folder)] = (state.st_size, state.st_mtime_ns)
    return found
