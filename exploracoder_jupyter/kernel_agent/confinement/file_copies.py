"""Copies a folder exactly, and packs the files that were written below one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tarfile
from collections.abc import Collection, Iterator

# Copies a folder exactly: with holes, hard links and extended attributes, including an overlay's upper-layer
# markers.
#
# The source belongs to a parent that may be running. It is not changed, except for temporary permissions on files
# that even their owner may not read, and only if this process lacks a capability to read them anyway.

_FULL = (errno.ENOSPC, errno.EDQUOT)


def copy_tree(source: str, target: str, *, exclude: Collection[str] = ()) -> None:
    """Copy the content of one folder into another, which exists, except for these top-level names.

    Links are copied as links; sockets are skipped. Files that their owner may not read are copied as well.

    Raises OSError if something could not be copied; ENOSPC if it does not fit.
    """
    try:
        _FolderCopy().copy_folder(source, target, exclude)
    except OSError as error:
        if error.errno in _FULL:
            raise OSError(error.errno, "the branch's files do not fit") from error
        raise


class _FolderCopy:
    """A single copy operation."""

    def __init__(self) -> None:
        self._hard_links: dict[tuple[int, int], str] = {}
        """Copies of files that have several hard links."""

    def copy_folder(self, source: str, target: str, exclude: Collection[str] = ()) -> None:
        with _temporary_permissions(source, 0o700), os.scandir(source) as entries:
            for entry in entries:
                if entry.name not in exclude:
                    self._copy_entry(entry, os.path.join(target, entry.name))

    def _copy_entry(self, entry: os.DirEntry[str], target: str) -> None:
        status = entry.stat(follow_symlinks=False)
        mode = status.st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(entry.path), target)
            shutil.copystat(entry.path, target, follow_symlinks=False)
        elif stat.S_ISDIR(mode):
            os.mkdir(target, 0o700)
            self.copy_folder(entry.path, target)
            _copy_attributes(entry.path, target, status)
        elif stat.S_ISREG(mode):
            self._copy_file(entry.path, target, status)
        elif stat.S_ISFIFO(mode):
            os.mkfifo(target, mode)
        elif stat.S_ISCHR(mode) and status.st_rdev == 0:
            os.mknod(target, mode, 0)  # a whiteout: the overlay's marker for a removed file

    def _copy_file(self, source: str, target: str, status: os.stat_result) -> None:
        if status.st_nlink > 1:
            existing = self._hard_links.setdefault((status.st_dev, status.st_ino), target)
            with contextlib.suppress(OSError):  # Landlock may forbid it: then there are two separate files
                if existing != target:
                    os.link(existing, target, follow_symlinks=False)
                    return
        with _temporary_permissions(source, 0o400), open(source, "rb") as old, open(target, "xb") as new:
            _copy_content(old.fileno(), new.fileno())
        _copy_attributes(source, target, status)


def _copy_content(source: int, target: int) -> None:
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # a hole until the end
            raise
        end = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(target, start, os.SEEK_SET)
        while start < end:
            copied = os.sendfile(target, source, start, end - start)
            if copied == 0:
                return  # truncated meanwhile
            start += copied


def _copy_attributes(source: str, target: str, status: os.stat_result) -> None:
    """Copy attributes, times and the permissions from before the copy."""
    with _temporary_permissions(source, 0o400):
        shutil.copystat(source, target)
    os.chmod(target, stat.S_IMODE(status.st_mode))


@contextlib.contextmanager
def _temporary_permissions(path: str, permissions: int) -> Iterator[None]:
    """Grant the owner these permissions during the block, if the path is otherwise unreadable."""
    mode = os.lstat(path).st_mode
    access = os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0)
    if mode & permissions == permissions or os.access(path, access, effective_ids=True):  # perhaps by capabilities
        yield
        return
    os.chmod(path, stat.S_IMODE(mode) | permissions)
    try:
        yield
    finally:
        os.chmod(path, stat.S_IMODE(mode))


# Packs the files that were written below a folder since a snapshot, to be fetched from another machine.

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
