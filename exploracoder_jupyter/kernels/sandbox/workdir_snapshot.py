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
from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from exploracoder_jupyter.kernels.sandbox.hidden_credentials import (
    ENVIRONMENT_MARKERS,
    find_private_files,
    is_private_file,
)

_MAX_ENTRIES: Final = 20_000
_MAX_BORROWED: Final = 200
_MAX_LISTED: Final = 5
_BORROWED_NAMES: Final = frozenset([".git", ".hg", "node_modules", ".tox", ".nox", ".mypy_cache", ".cache"])
_LEFT_OUT: Final = frozenset(["__pycache__", ".ipynb_checkpoints"])


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
    """Private files below the borrowed paths, to be hidden."""

    @property
    def note(self) -> str:
        """Which files siblings do not see, for the user; empty if there are none."""
        if not self.missing:
            return ""
        rest = len(self.missing) - _MAX_LISTED
        names = ", ".join(map(str, self.missing[:_MAX_LISTED])) + (f" and {rest} more" if rest > 0 else "")
        return f"not visible: {names}"


def copyable_workdir(workdir: Path, stack: ExitStack | AsyncExitStack) -> Path:
    """Return the real path of the working directory; for the root of the file system, which can be neither copied nor
    covered, an empty temporary folder that is removed with the stack."""
    workdir = workdir.resolve()
    return Path(stack.enter_context(TemporaryDirectory(prefix="xwork-"))) if is_root_folder(workdir) else workdir


def is_root_folder(workdir: Path) -> bool:
    """Return whether this is the root of the file system."""
    resolved = workdir.resolve()
    return resolved == resolved.parent


def take_snapshot(
    source: Path,
    folder: Path,
    *,
    most_mb: int,
    hidden: Iterable[Path] = (),
    named: Iterable[Path] = (),
    borrow: bool = True,
) -> Snapshot:
    """Copy the working directory into the new folder, except special files, credentials and unreadable files.

    `named`: files that are copied even if they contain credentials. `borrow`: whether files that are not copied can be
    shown read-only.
    """
    folder.mkdir(parents=True)
    bytes_left, entries_left = most_mb * 1_000_000, _MAX_ENTRIES
    unwanted, wanted = frozenset(hidden), frozenset(named)
    missing: list[Path] = []
    not_copied: list[Path] = []
    waiting = deque([Path()])  # upper folders are copied before deeper ones
    while waiting:
        parent = waiting.popleft()
        try:
            entries = [entry for entry in os.scandir(source / parent) if _is_wanted(entry, unwanted, wanted)]
        except OSError:
            missing.append(parent)
            continue
        environment = parent.name in _BORROWED_NAMES or any(entry.name in ENVIRONMENT_MARKERS for entry in entries)
        if parent != Path() and (len(entries) > entries_left or environment):
            not_copied.append(parent)
            continue
        entries_left -= len(entries)
        (folder / parent).mkdir(exist_ok=True)
        waiting.extend(parent / entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for entry in sorted(files, key=lambda entry: entry.stat(follow_symlinks=False).st_size):
            size = entry.stat(follow_symlinks=False).st_size
            try:
                leads_out = not borrow and entry.is_symlink() and Path(entry.path).readlink().is_absolute()
                if size > bytes_left or leads_out:
                    not_copied.append(parent / entry.name)
                    continue
                shutil.copy2(entry.path, folder / parent / entry.name, follow_symlinks=False)
                bytes_left -= size
            except OSError:
                missing.append(parent / entry.name)
    shown = _MAX_BORROWED if borrow else 0
    borrowed, missing = not_copied[:shown], [*missing, *not_copied[shown:]]
    private = (path for path in find_private_files(source / path for path in borrowed) if path not in wanted)
    return Snapshot(source, folder, tuple(borrowed), tuple(missing), tuple(private))


def _is_wanted(entry: os.DirEntry[str], hidden: Collection[Path], named: Collection[Path]) -> bool:
    kind, path = entry.stat(follow_symlinks=False).st_mode, Path(entry.path)
    copyable = stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
    if not copyable or path in hidden or entry.name in _LEFT_OUT:
        return False
    return stat.S_ISDIR(kind) or path in named or not is_private_file(entry)
