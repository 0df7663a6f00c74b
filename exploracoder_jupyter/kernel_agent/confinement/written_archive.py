"""Packs what was written below a folder since it was looked at first, to be fetched from another machine."""

from __future__ import annotations

import os
import stat
import tarfile

CACHES = frozenset(["__pycache__", ".ipynb_checkpoints", ".pytest_cache"])
_MOST_FILES = 1000


States = dict[str, tuple[int, int]]
"""Size and time of change, in nanoseconds, of each file, by relative path."""


def look(folder: str) -> States:
    """The regular files below the folder."""
    found: States = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in CACHES]
        found |= states(folder, parent, names)
    return found


def states(folder: str, parent: str, names: list[str]) -> States:
    """What `look` tells, of these entries of one folder below it."""
    found: States = {}
    for name in names:
        path = os.path.join(parent, name)
        try:
            state = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(state.st_mode):
            found[os.path.relpath(path, folder)] = (state.st_size, state.st_mtime_ns)
    return found


def pack(folder: str, before: States, archive: str, most: int) -> None:
    """Write an archive of the files that are new or changed, small ones first, `most` bytes in all."""
    new = [(size, path) for path, (size, changed) in look(folder).items() if before.get(path) != (size, changed)]
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for size, path in sorted(new)[:_MOST_FILES]:
            most -= size
            if most < 0:
                return
            packed.add(os.path.join(folder, path), path, recursive=False)
