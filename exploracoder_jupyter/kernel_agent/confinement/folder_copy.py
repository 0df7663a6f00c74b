"""Copies a folder as it is: holes, hard links and extended attributes, the marks of an overlay's upper layer included.

What is copied is a parent's, which may be running: nothing of it is changed, but for the rights to what not even its
owner may read, and those only where this process has no capability that goes without.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator

_FULL = (errno.ENOSPC, errno.EDQUOT)


def copy_tree(source: str, target: str, *, leave_out: Collection[str] = ()) -> None:
    """Copy what is in one folder into another, which exists, but for these names at the top.

    Links are copied as links; sockets are left out. A file that its owner may not read is copied all the same.

    Raises:
        OSError: something could not be copied; ENOSPC when it does not fit.
    """
    try:
        _Copying().folder(source, target, leave_out)
    except OSError as error:
        if error.errno in _FULL:
            raise OSError(error.errno, "the branch's files do not fit") from error
        raise


class _Copying:
    """One copy of one folder."""

    def __init__(self) -> None:
        self._linked: dict[tuple[int, int], str] = {}
        """Copies of files that have several names."""

    def folder(self, source: str, target: str, leave_out: Collection[str] = ()) -> None:
        with _permitted(source, 0o700), os.scandir(source) as entries:
            for entry in entries:
                if entry.name not in leave_out:
                    self._entry(entry, os.path.join(target, entry.name))

    def _entry(self, entry: os.DirEntry[str], target: str) -> None:
        status = entry.stat(follow_symlinks=False)
        kind = status.st_mode
        if stat.S_ISLNK(kind):
            os.symlink(os.readlink(entry.path), target)
            shutil.copystat(entry.path, target, follow_symlinks=False)
        elif stat.S_ISDIR(kind):
            os.mkdir(target, 0o700)
            self.folder(entry.path, target)
            _copy_marks(entry.path, target, status)
        elif stat.S_ISREG(kind):
            self._file(entry.path, target, status)
        elif stat.S_ISFIFO(kind):
            os.mkfifo(target, kind)
        elif stat.S_ISCHR(kind) and status.st_rdev == 0:
            os.mknod(target, kind, 0)  # a whiteout: the overlay's mark for something removed

    def _file(self, source: str, target: str, status: os.stat_result) -> None:
        if status.st_nlink > 1:
            known = self._linked.setdefault((status.st_dev, status.st_ino), target)
            with contextlib.suppress(OSError):  # Landlock may forbid it: then there are two files
                if known != target:
                    os.link(known, target, follow_symlinks=False)
                    return
        with _permitted(source, 0o400), open(source, "rb") as old, open(target, "xb") as new:
            _pour(old.fileno(), new.fileno())
        _copy_marks(source, target, status)


def _pour(source: int, target: int) -> None:
    """Copy the content but for the holes in it."""
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # a hole up to the end
            raise
        end = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(target, start, os.SEEK_SET)
        while start < end:
            sent = os.sendfile(target, source, start, end - start)
            if sent == 0:
                return  # it was cut off meanwhile
            start += sent


def _copy_marks(source: str, target: str, status: os.stat_result) -> None:
    """Attributes, times and, as they were before the copying, rights."""
    with _permitted(source, 0o400):
        shutil.copystat(source, target)
    os.chmod(target, stat.S_IMODE(status.st_mode))


@contextlib.contextmanager
def _permitted(path: str, rights: int) -> Iterator[None]:
    """Give the owner these rights to a path for as long as the block lasts, if it cannot be read without."""
    mode = os.lstat(path).st_mode
    if mode & rights == rights or _can_read(path, mode):
        yield
        return
    os.chmod(path, stat.S_IMODE(mode) | rights)
    try:
        yield
    finally:
        os.chmod(path, stat.S_IMODE(mode))


def _can_read(path: str, mode: int) -> bool:
    """Whether this process can without the owner's rights: with capabilities, that is."""
    return os.access(path, os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0), effective_ids=True)
