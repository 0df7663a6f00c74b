"""Copies the working directory: one snapshot per run, and one copy of the snapshot per sibling.

The snapshot is taken at the call, so that every branch starts from the same files whatever changes later. Its bytes and
entries are limited; small files and upper folders come first. What is not copied (large files, environments, `.git`) is
shown read-only where mounts are possible. Elsewhere it is left out and listed, as are links that point out of the copy:
a candidate would write through them to the user's own files.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.secrets.credential_files import is_credential_file
from exploracoder_jupyter.kernels.sandbox.hidden_credentials import find_credential_files

_MAX_ENTRIES: Final = 20_000
_MAX_BORROWED: Final = 200
_MAX_LISTED: Final = 5
_BORROWED_NAMES: Final = frozenset([".git", ".hg", "node_modules", ".tox", ".nox", ".mypy_cache", ".cache"])
_LEFT_OUT: Final = frozenset(["__pycache__", ".ipynb_checkpoints"])
_ENVIRONMENT_MARKERS: Final = ("pyvenv.cfg", "conda-meta")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The working directory at one moment."""

    source: Path
    """The real working directory."""
    folder: Path
    """The copy, which is never changed."""
    borrowed: tuple[Path, ...]
    """Relative paths that were not copied and are shown read-only."""
    missing: tuple[Path, ...]
    """Relative paths that are neither copied nor shown."""
    hidden: tuple[Path, ...] = ()
    """Files with credentials below the borrowed paths, to be hidden."""

    @property
    def note(self) -> str:
        """Which files siblings do not see, for the user; empty if there are none."""
        if not self.missing:
            return ""
        rest = len(self.missing) - _MAX_LISTED
        names = ", ".join(map(str, self.missing[:_MAX_LISTED])) + (f" and {rest} more" if rest > 0 else "")
        return f"not visible: {names}"


def take_snapshot(
    source: Path, folder: Path, *, most_mb: int, hidden: Iterable[Path] = (), borrow: bool = True
) -> Snapshot:
    """Copy the working directory into the new folder, except special files, credentials and unreadable files.

    `borrow`: whether files that are not copied can be shown read-only.
    """
    folder.mkdir(parents=True)
    if source == Path(source.anchor):  # the root of the file system is never the intended working directory
        return Snapshot(source, folder, (), ())
    return _SnapshotCopier(source, folder, most_mb * 1_000_000, frozenset(hidden), _MAX_BORROWED if borrow else 0).run()


class _SnapshotCopier:
    """One breadth-first walk, which copies upper folders before deeper ones."""

    def __init__(self, source: Path, folder: Path, bytes_left: int, hidden: frozenset[Path], max_borrowed: int) -> None:
        self._source, self._folder, self._hidden = source, folder, hidden
        self._bytes_left, self._entries, self._max_borrowed = bytes_left, _MAX_ENTRIES, max_borrowed
        self._borrowed: list[Path] = []
        self._missing: list[Path] = []

    def run(self) -> Snapshot:
        waiting = deque([Path()])
        while waiting:
            waiting.extend(self._copy_folder(waiting.popleft()))
        hidden = find_credential_files(self._source / path for path in self._borrowed)
        return Snapshot(self._source, self._folder, tuple(self._borrowed), tuple(self._missing), tuple(hidden))

    def _copy_folder(self, relative: Path) -> list[Path]:
        """Copy the files of one folder and return its subfolders."""
        try:
            entries = [entry for entry in os.scandir(self._source / relative) if self._is_wanted(entry)]
        except OSError:
            self._missing.append(relative)
            return []
        environment = relative.name in _BORROWED_NAMES or any(entry.name in _ENVIRONMENT_MARKERS for entry in entries)
        if relative != Path() and (len(entries) > self._entries or environment):
            self._borrow(relative)
            return []
        self._entries -= len(entries)
        (self._folder / relative).mkdir(exist_ok=True)
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for entry in sorted(files, key=lambda entry: entry.stat(follow_symlinks=False).st_size):
            self._copy(entry, relative / entry.name)
        return [relative / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def _is_wanted(self, entry: os.DirEntry[str]) -> bool:
        kind = entry.stat(follow_symlinks=False).st_mode
        copyable = stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
        path = Path(entry.path)
        secret = path in self._hidden or (not stat.S_ISDIR(kind) and is_credential_file(path))
        return copyable and not secret and entry.name not in _LEFT_OUT

    def _copy(self, entry: os.DirEntry[str], relative: Path) -> None:
        size = entry.stat(follow_symlinks=False).st_size
        leads_out = entry.is_symlink() and Path(entry.path).readlink().is_absolute()  # relative ones stay in the copy
        if size > self._bytes_left or (leads_out and not self._max_borrowed):
            self._borrow(relative)
            return
        try:
            shutil.copy2(entry.path, self._folder / relative, follow_symlinks=False)
        except OSError:
            self._missing.append(relative)
            return
        self._bytes_left -= size

    def _borrow(self, relative: Path) -> None:
        known = self._borrowed if len(self._borrowed) < self._max_borrowed else self._missing
        known.append(relative)
