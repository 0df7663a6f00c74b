"""Tracks which files below the working directory a cell has written.

Folders with too many entries, and those that repeatedly take too long to scan, are skipped from then on, as the scan
must cost next to nothing.
"""

from __future__ import annotations

import contextlib
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
        self._folder = ""
        with contextlib.suppress(OSError):  # it may have been removed
            self._folder = os.getcwd()
        self._initial = self._scan()

    def stop(self) -> list[str]:
        """Return the files written since `start`; none if the folder has too many entries."""
        before = self._initial
        if before is None or (after := self._scan()) is None:
            return []
        return sorted(path for path, state in after.items() if before.get(path) != state)[:_MAX_FILES]

    def _scan(self) -> FileStates | None:
        if not self._folder or self._folder in self._skipped_folders:
            return None
        deadline, entries = time.monotonic() + _MAX_SECONDS, 0
        result: FileStates = {}
        for parent, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            entries += len(folders) + len(names)
            slow = time.monotonic() > deadline
            if slow:
                self._slow_scans[self._folder] += 1
            if entries > _MAX_ENTRIES or self._slow_scans[self._folder] >= _MAX_SLOW_SCANS:
                self._skipped_folders.add(self._folder)
                return None
            if slow:
                return None
            result |= file_states(self._folder, parent, names)
        return result
