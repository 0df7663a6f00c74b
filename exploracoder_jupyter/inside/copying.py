"""Copies a folder as it is, the marks of an overlay's upper layer included: whiteouts and extended attributes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress


def copy_tree(source: str, target: str, *, leave_out: Collection[str] = ()) -> None:
    """Copy what is in one folder into another, which exists, but for these names at the top.

    Links are copied as links; sockets are left out. A file that its owner may not read is copied all the same.
    """
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name not in leave_out:
                _copy_entry(entry, os.path.join(target, entry.name))


def _copy_entry(entry: os.DirEntry[str], target: str) -> None:
    kind = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink(entry.path), target)
        shutil.copystat(entry.path, target, follow_symlinks=False)
    elif stat.S_ISDIR(kind):
        os.mkdir(target, 0o700)
        with _readable(entry.path, kind, 0o700):
            copy_tree(entry.path, target)
        shutil.copystat(entry.path, target)
    elif stat.S_ISREG(kind):
        with _readable(entry.path, kind, 0o400):
            shutil.copyfile(entry.path, target)
        shutil.copystat(entry.path, target)
    elif stat.S_ISFIFO(kind):
        os.mkfifo(target, kind)
    elif stat.S_ISCHR(kind) and entry.stat(follow_symlinks=False).st_rdev == 0:
        os.mknod(target, kind, 0)  # a whiteout: the overlay's mark for something removed


class _readable:
    """Gives the owner these rights to a path for as long as the block lasts."""

    def __init__(self, path: str, mode: int, rights: int) -> None:
        self._path, self._mode, self._rights = path, stat.S_IMODE(mode), rights

    def __enter__(self) -> None:
        if self._mode & self._rights != self._rights:
            with suppress(OSError):
                os.chmod(self._path, self._mode | self._rights)

    def __exit__(self, *_: object) -> None:
        if self._mode & self._rights != self._rights:
            with suppress(OSError):
                os.chmod(self._path, self._mode)
