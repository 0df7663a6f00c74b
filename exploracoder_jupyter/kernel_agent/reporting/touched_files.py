"""Tracks which files below the working directory a cell has written.

Folders with too many entries, and those that repeatedly take too long to scan, are skipped from then on, as the scan
must cost next to nothing.
"""

from __future__ import annotations

import os
import time
from collections import Counter

from exploracoder_jupyter.kernel_agent.confinement.written_files_archive import CACHES, FileStates, file_states

_SKIPPED = CACHES | {".git"}
_MAX_ENTRIES = 2_000
_MAX_FILES = 60
_MAX_SECONDS = 0.05
_MAX_SLOW_SCANS = 2
"""Slow scans after which a folder is skipped. A single one says more about the machine than about the folder."""


class FileTracker:
    """Tracks changes in the working directory, one cell at a time."""

    def __init__(self) -> None:
        self._folder = ""
        self._initial: FileStates | None = None
        self._skipped_folders: set[str] = set()
        self._slow_scans: Counter[str] = Counter()

    def start(self) -> None:
        """Record the current state."""
        try:
            self._folder = os.getcwd()
        except OSError:  # it was removed
            self._folder = ""
        self._initial = self._scan()

    def stop(self) -> list[str]:
        """Return the files written since `start`; none if the folder has too many entries."""
        after = self._scan() if self._initial is not None else None
        if after is None or self._initial is None:
            return []
        return sorted(path for path, state in after.items() if self._initial.get(path) != state)[:_MAX_FILES]

    def _scan(self) -> FileStates | None:
        if not self._folder or self._folder in self._skipped_folders:
            return None
        try:
            return _scan(self._folder)
        except TimeoutError:
            self._slow_scans[self._folder] += 1
            too_large = self._slow_scans[self._folder] >= _MAX_SLOW_SCANS
        except OverflowError:
            too_large = True
        if too_large:
            self._skipped_folders.add(self._folder)
        return None


def _scan(folder: str) -> FileStates:
    """Return the states of the regular files below the folder.

    Raises:
        OverflowError: there are too many entries.
        TimeoutError: the scan takes too long.
    """
    deadline, entries = time.monotonic() + _MAX_SECONDS, 0
    result: FileStates = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        entries += len(folders) + len(names)
        if entries > _MAX_ENTRIES:
            raise OverflowError
        if time.monotonic() > deadline:
            raise TimeoutError
        result |= file_states(folder, parent, names)
    return result
