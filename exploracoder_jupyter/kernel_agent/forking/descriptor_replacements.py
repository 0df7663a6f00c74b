"""Replaces descriptors inherited through a fork.

Files in folders of which the process has its own copy are reopened there. A file that is only read is reopened by its
path, if that still leads to it. A file that is written or can no longer be reached becomes one copy in memory per file,
so that descriptors of the same file still see each other's changes. Files left out when their folder was copied,
because they contain credentials or are too large, do not become accessible through a descriptor. Anything connected to
another process or a device becomes `/dev/null`. Access mode, offset and inheritability are preserved.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from exploracoder_jupyter.kernel_agent.forking import fork_hazards

MAX_COPIED_BYTES = 64 * 2**20
"""Bytes of open files that are copied into memory, in total for one process."""

_PRESERVED_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK
_O_PATH = getattr(os, "O_PATH", 0)
_SAFE_DEVICES = {(1, 5): "/dev/zero", (1, 7): "/dev/full", (1, 8): "/dev/random", (1, 9): "/dev/urandom"}
_DELETED = " (deleted)"
_OWN_FOLDERS = (".", "/dev/shm", "/tmp")
_TERMINALS = {4, 5, *range(136, 144)}


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor as it was right after the fork."""

    number: int
    status: os.stat_result
    flags: int
    """Status flags of its open file description, including the access mode."""
    path: str
    """Target of `/proc/self/fd`: a path in the parent's view, or a name like `socket:[1234]`."""
    offset: int
    inheritable: bool
    duplicate_of: int | None = None
    """The lowest descriptor of the same open file description, unless it is this one."""

    @property
    def file(self) -> tuple[int, int]:
        """Identity of the file, independent of its path."""
        return self.status.st_dev, self.status.st_ino

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file or in memory; namespaces and the like only look like one."""
        return stat.S_ISREG(self.status.st_mode) and self.path.startswith("/")

    @property
    def is_folder(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def readable(self) -> bool:
        """Whether it can be read."""
        return self.flags & (os.O_ACCMODE | _O_PATH) in (os.O_RDONLY, os.O_RDWR)

    @property
    def writable(self) -> bool:
        """Whether it can be written."""
        return self.flags & (os.O_ACCMODE | _O_PATH) in (os.O_WRONLY, os.O_RDWR)


class DescriptorReplacer:
    """Replaces descriptors; holds resources that several replacements share."""

    def __init__(
        self,
        descriptors: Sequence[Descriptor],
        *,
        copied_folders: Mapping[str, str],
        hidden: Collection[str],
        shown: Collection[str] = (),
    ) -> None:
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._copied_folders = {folder: copy for folder, copy in copied_folders.items() if folder and copy}
        self._hidden, self._shown = ("/proc", *hidden), frozenset(shown).difference(hidden)
        self._copies = _MemoryCopies(descriptors)
        self._written_files = {one.file for one in descriptors if one.is_file and one.writable}
        readable, writable = (one for one in descriptors if one.readable), (one for one in descriptors if one.writable)
        self._internal_pipes = {one.status.st_ino for one in readable} & {one.status.st_ino for one in writable}
        """Pipes with both ends in this process."""
        self._replaced: set[int] = set()

    def close(self) -> None:
        """Release the shared resources."""
        self._copies.close()
        os.close(self._null)

    def replace(self, descriptor: Descriptor) -> str:
        """Replace the descriptor in place; return a clause for the user if it has lost its function."""
        clause = ""
        if descriptor.duplicate_of in self._replaced:
            os.dup2(descriptor.duplicate_of, descriptor.number, inheritable=descriptor.inheritable)
        else:
            new, clause = self._replacement(descriptor)
            os.dup2(self._null if new is None else new, descriptor.number, inheritable=descriptor.inheritable)
            if new is not None:
                os.close(new)
        self._replaced.add(descriptor.number)
        return clause

    def _replacement(self, descriptor: Descriptor) -> tuple[int | None, str]:
        """Return a new descriptor, or None for `/dev/null`, and a clause for the user."""
        path, mode = descriptor.path, descriptor.status.st_mode
        if descriptor.is_file or descriptor.is_folder:
            if not self._is_visible(path):
                return None, f"{path} is closed"
            return self._reopen_folder(descriptor) if descriptor.is_folder else self._replace_file(descriptor)
        if stat.S_ISCHR(mode):
            return self._replace_device(descriptor)
        if stat.S_ISSOCK(mode):
            return None, fork_hazards.describe_lost_socket(descriptor.number)
        if stat.S_ISFIFO(mode) and path.startswith("/"):
            return None, f"the pipe {path} is closed"
        if stat.S_ISFIFO(mode) and descriptor.status.st_ino not in self._internal_pipes:
            return None, "a pipe to another process is closed"
        return None, f"the device {path} is closed" if stat.S_ISBLK(mode) else ""

    def _is_visible(self, path: str) -> bool:
        """Exclude hidden paths unless copied, and `/proc`, whose files give access to other processes."""
        if _innermost_folder(path, self._copied_folders) is not None:
            return True
        return _innermost_folder(path, (*self._hidden, *self._shown)) not in self._hidden

    def _reopen_folder(self, descriptor: Descriptor) -> tuple[int | None, str]:
        """Open the folder now at this path, whatever has become of the parent's."""
        try:
            path = self._path_in_copy(descriptor.path) or descriptor.path
            new = os.open(path, os.O_DIRECTORY | os.O_CLOEXEC | descriptor.flags & _O_PATH)
        except OSError:
            return None, f"the folder {descriptor.path} is closed"
        _seek(new, descriptor.offset)
        return new, ""

    def _replace_device(self, descriptor: Descriptor) -> tuple[int | None, str]:
        device = os.major(descriptor.status.st_rdev), os.minor(descriptor.status.st_rdev)
        if device == (1, 3):
            return None, ""
        if device in _SAFE_DEVICES:
            with contextlib.suppress(OSError):  # this mount namespace may have no such device
                return os.open(_SAFE_DEVICES[device], descriptor.flags & _PRESERVED_FLAGS | os.O_CLOEXEC), ""
        return None, f"the {'terminal' if device[0] in _TERMINALS else 'device'} {descriptor.path} is closed"

    def _replace_file(self, descriptor: Descriptor) -> tuple[int | None, str]:
        """Use the first method that applies and works."""
        path, linked = descriptor.path, descriptor.status.st_nlink > 0
        own_path = self._path_in_copy(path)
        copied = own_path is None or (os.path.isfile(own_path) and not os.path.islink(own_path))
        if linked and not copied and not path.endswith(_DELETED):
            return None, f"{path} is closed: experiments have no copy of it"
        has_content = not descriptor.flags & _O_PATH and not path.startswith("/sys/")
        megabytes = descriptor.status.st_size // 2**20
        large = f"{path} can only be read: {megabytes} MB open for writing are not copied"
        methods: list[tuple[bool, Callable[[], int], str]] = [
            (linked and own_path is not None, lambda: _open(own_path or path, descriptor.flags), ""),
            (descriptor.file not in self._written_files, lambda: self._open_for_reading(descriptor), ""),
            (has_content, lambda: self._copies.open(descriptor), ""),
            (True, lambda: self._open_for_reading(descriptor), large),
        ]
        for applies, open_file, clause in methods:
            new = None
            with contextlib.suppress(OSError):
                new = open_file() if applies else None
            if new is not None:
                _seek(new, descriptor.offset)
                return new, "" if clause and _is_mapped(path) else clause
        return None, f"{path} is closed: it cannot be copied"

    def _path_in_copy(self, path: str) -> str | None:
        folder = _innermost_folder(path, self._copied_folders)
        return None if folder is None else self._copied_folders[folder] + path[len(folder) :]

    def _open_for_reading(self, descriptor: Descriptor) -> int:
        """Open for reading only: our copy of a carried file or the parent's own, but not a file that replaced it."""
        flags = descriptor.flags & ~(os.O_ACCMODE | os.O_APPEND)
        own_path = self._path_in_copy(descriptor.path)
        new = _open(own_path or descriptor.path, flags)
        if own_path or _is_same_file(os.fstat(new), descriptor.status):
            return new
        os.close(new)
        raise FileNotFoundError(errno.ENOENT, "a different file is at this path", descriptor.path)


def _is_same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are of one file, which an overlay shows on a device of its own."""
    fields = ("st_ino", "st_mode", "st_uid", "st_size", "st_mtime_ns")
    return os.path.samestat(one, other) or all(getattr(one, name) == getattr(other, name) for name in fields)


class _MemoryCopies:
    """Copies in memory, one per file."""

    def __init__(self, descriptors: Sequence[Descriptor]) -> None:
        self._sources = {one.file: one.number for one in descriptors if one.is_file and one.readable}
        self._copies: dict[tuple[int, int], int] = {}
        self._remaining = MAX_COPIED_BYTES

    def open(self, descriptor: Descriptor) -> int:
        """Open a new description of the copy with the access mode of the original."""
        if descriptor.file not in self._copies:
            self._copies[descriptor.file] = self._create(descriptor)
        copy = f"/proc/self/fd/{self._copies[descriptor.file]}"
        return os.open(copy, descriptor.flags & _PRESERVED_FLAGS | os.O_CLOEXEC)

    def close(self) -> None:
        for copy in self._copies.values():
            os.close(copy)

    def _create(self, descriptor: Descriptor) -> int:
        """Copy the content; zeros of the same size if no descriptor can read it, which makes no difference."""
        source, size = self._sources.get(descriptor.file), descriptor.status.st_size
        if source is not None and size > self._remaining:
            raise OSError(errno.EFBIG, "too large to copy", descriptor.path)
        copy = _open_unnamed(os.path.basename(descriptor.path)[:200])
        try:
            os.ftruncate(copy, size)
            if source is not None:
                done = 0  # an explicit offset: the shared one does not move
                while done < size and (count := os.sendfile(copy, source, done, size - done)):
                    done += count
                self._remaining -= size
        except OSError:
            os.close(copy)
            raise
        return copy


def _open_unnamed(name: str) -> int:
    """Open a new file that nobody else can open: in memory, or, where a filter forbids that, in a folder of its own."""
    with contextlib.suppress(OSError):
        return os.memfd_create(name, os.MFD_CLOEXEC)
    for folder in _OWN_FOLDERS:
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    raise OSError(errno.ENOSYS, "no folder can contain a file without a name", name)


def _open(path: str, flags: int) -> int:
    """Open a regular file, and nothing else, with the preserved flags."""
    preserved = flags & (_PRESERVED_FLAGS | _O_PATH)
    new = os.open(path, preserved | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a FIFO must not block
    if not stat.S_ISREG(os.fstat(new).st_mode):
        os.close(new)
        raise FileNotFoundError(errno.ENOENT, "not a regular file", path)
    if not preserved & (os.O_NONBLOCK | _O_PATH):
        fcntl.fcntl(new, fcntl.F_SETFL, preserved)
    return new


def _seek(descriptor: int, offset: int) -> None:
    with contextlib.suppress(OSError):  # a position in a folder that another file system does not support
        os.lseek(descriptor, offset, os.SEEK_SET)


def _is_mapped(path: str) -> bool:
    """Return whether this process maps the file: then it is used through the mapping, not the descriptor."""
    with open("/proc/self/maps", "rb") as lines:
        return any(line.endswith(os.fsencode(f" {path}\n")) for line in lines)


def _innermost_folder(path: str, folders: Collection[str]) -> str | None:
    """Return the innermost of these folders that is or contains the path."""
    containing = (folder for folder in folders if folder and f"{path}/".startswith(folder.rstrip("/") + "/"))
    return max(containing, key=len, default=None)
