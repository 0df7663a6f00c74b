"""Packs the files that were written below a folder since a snapshot, to be fetched from another machine."""

from __future__ import annotations

import os
import stat
import tarfile

CACHES = frozenset(["__pycache__", ".ipynb_checkpoints", ".pytest_cache"])
_MAX_FILES = 1000


FileStates = dict[str, tuple[int, int]]
"""Size and modification time in nanoseconds of each file, by relative path."""


def snapshot(folder: str) -> FileStates:
    """Return the states of the regular files below the folder."""
    result: FileStates = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in CACHES]
        result |= file_states(folder, parent, names)
    return result


def file_states(folder: str, parent: str, names: list[str]) -> FileStates:
    """Return the states of these entries in one folder below it, as `snapshot` does."""
    result: FileStates = {}
    for name in names:
        path = os.path.join(parent, name)
        try:
            state = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(state.st_mode):
            result[os.path.relpath(path, folder)] = (state.st_size, state.st_mtime_ns)
    return result


def pack(folder: str, initial: FileStates, archive: str, limit: int) -> None:
    """Write an archive of the new or changed files, small ones first, at most `limit` bytes in total."""
    new = [(size, path) for path, (size, modified) in snapshot(folder).items() if initial.get(path) != (size, modified)]
    with tarfile.open(archive, "w:gz", compresslevel=1) as output:
        for size, path in sorted(new)[:_MAX_FILES]:
            limit -= size
            if limit < 0:
                return
            output.add(os.path.join(folder, path), path, recursive=False)
