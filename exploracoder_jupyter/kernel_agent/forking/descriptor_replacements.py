"""What takes the place of a descriptor that came with a fork.

A file of which the process has its own copy is opened there again; one that is only read is opened again by its path,
if that still leads to it; one that is written, or can no longer be reached, becomes a copy in memory, one for each
file, so that descriptors of the same file go on seeing each other. But what was left out when its folder was copied,
because it holds credentials or does not fit, is not let in through a descriptor. Everything with another process or a
device at its end becomes `/dev/null`. Access mode, offset and what is inherited by programs stay as they were.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from dataclasses import dataclass

from exploracoder_jupyter.kernel_agent.forking import connection_peers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

COPIED = 64 * 2**20
"""Bytes of open files that are copied into memory, all files of one process together."""

_KEPT_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK
_O_PATH = getattr(os, "O_PATH", 0)
_HARMLESS = {(1, 5): "/dev/zero", (1, 7): "/dev/full", (1, 8): "/dev/random", (1, 9): "/dev/urandom"}
_DELETED = " (deleted)"
_TERMINALS = {4, 5, *range(136, 144)}


@dataclass(frozen=True, slots=True)
class Found:
    """A descriptor, as it was right after the fork."""

    number: int
    status: os.stat_result
    flags: int
    """The status flags of its description, access mode included."""
    path: str
    """What `/proc/self/fd` said: a path in the parent's view, or a name like `socket:[1234]`."""
    offset: int
    inheritable: bool
    twin: int | None = None
    """The lowest number of the same description, unless it is this."""

    @property
    def file(self) -> tuple[int, int]:
        """The file, whatever it is called."""
        return self.status.st_dev, self.status.st_ino

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file or one in memory; namespaces and the like only look like it."""
        return stat.S_ISREG(self.status.st_mode) and self.path.startswith("/")

    @property
    def is_folder(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def reads(self) -> bool:
        """Whether it can be read."""
        return self.flags & (os.O_ACCMODE | _O_PATH) in (os.O_RDONLY, os.O_RDWR)

    @property
    def writes(self) -> bool:
        """Whether it can be written."""
        return self.flags & (os.O_ACCMODE | _O_PATH) in (os.O_WRONLY, os.O_RDWR)


class Workshop:
    """Replaces descriptors; holds what several of them need."""

    def __init__(
        self, found: Sequence[Found], *, places: Mapping[str, str], hidden: Collection[str], shown: Collection[str] = ()
    ) -> None:
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._places = {folder: place for folder, place in places.items() if folder and place}
        self._hidden, self._shown = ("/proc", *hidden), frozenset(shown).difference(hidden)
        self._copies = _Copies(found)
        self._written = {one.file for one in found if one.is_file and one.writes}
        self._pipes = connection_peers.Pipes((one.status.st_ino, one.reads, one.writes) for one in found)
        self._done: set[int] = set()

    def close(self) -> None:
        """Give back what was needed on the way."""
        self._copies.close()
        os.close(self._null)

    def replace(self, one: Found) -> str:
        """Put something of our own at its number; return a clause for people when it is no longer what it was."""
        clause = ""
        if one.twin in self._done:
            os.dup2(one.twin, one.number, inheritable=one.inheritable)
        else:
            new, clause = self._made(one)
            os.dup2(self._null if new is None else new, one.number, inheritable=one.inheritable)
            if new is not None:
                os.close(new)
        self._done.add(one.number)
        return clause

    def _made(self, one: Found) -> tuple[int | None, str]:
        """A new descriptor, None for nothing, and what to say of it."""
        if one.is_file or one.is_folder:
            if not self._may_show(one.path):
                return None, f"{one.path} is closed"
            return self._folder(one) if one.is_folder else self._file(one)
        if stat.S_ISCHR(one.status.st_mode):
            return self._device(one)
        if stat.S_ISSOCK(one.status.st_mode):
            return None, connection_peers.lost_socket(one.number)
        if stat.S_ISFIFO(one.status.st_mode):
            return None, self._pipes.lost(one.status.st_ino, one.path)
        return None, f"the device {one.path} is closed" if stat.S_ISBLK(one.status.st_mode) else ""

    def _may_show(self, path: str) -> bool:
        """Not what is hidden, unless a copy of it came along; nor a process's files, which are windows into it."""
        if _below(path, self._places) is not None:
            return True
        return _below(path, (*self._hidden, *self._shown)) not in self._hidden

    def _folder(self, one: Found) -> tuple[int | None, str]:
        """The folder that is at this path now, whatever became of the parent's."""
        try:
            new = os.open(self._here(one.path) or one.path, os.O_DIRECTORY | os.O_CLOEXEC | one.flags & _O_PATH)
        except OSError:
            return None, f"the folder {one.path} is closed"
        _seek(new, one.offset)
        return new, ""

    def _device(self, one: Found) -> tuple[int | None, str]:
        kind = os.major(one.status.st_rdev), os.minor(one.status.st_rdev)
        if kind == (1, 3):
            return None, ""
        if kind in _HARMLESS:
            try:
                return os.open(_HARMLESS[kind], one.flags & _KEPT_FLAGS | os.O_CLOEXEC), ""
            except OSError:
                pass  # this view has no such device
        return None, f"the {'terminal' if kind[0] in _TERMINALS else 'device'} {one.path} is closed"

    def _file(self, one: Found) -> tuple[int | None, str]:
        """The first way that works; each raises OSError when it does not."""
        if self._is_left_out(one):
            return None, f"{one.path} is closed: it is not among the files here"
        large = f"{one.path} can only be read: {one.status.st_size // 2**20} MB open for writing are not copied"
        ways = [(self._ours, ""), (self._same, ""), (self._copy, ""), (self._for_reading, large)]
        for way, clause in ways:
            try:
                new = way(one)
            except OSError:
                continue
            _seek(new, one.offset)
            return new, "" if clause and _is_mapped(one.path) else clause
        return None, f"{one.path} is closed: it cannot be copied"

    def _here(self, path: str) -> str | None:
        """Where our own copy of this path is; None when we have none."""
        folder = _below(path, self._places)
        return None if folder is None else self._places[folder] + path[len(folder) :]

    def _is_left_out(self, one: Found) -> bool:
        """Whether it has a path in a folder of which we have a copy, and the copy has no such file."""
        ours = self._here(one.path)
        if ours is None or one.status.st_nlink == 0 or one.path.endswith(_DELETED):
            return False
        try:
            return not stat.S_ISREG(os.lstat(ours).st_mode)
        except OSError:
            return True

    def _ours(self, one: Found) -> int:
        """Our own copy of a carried file."""
        path = self._here(one.path)
        if path is None or one.status.st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "not carried", one.path)
        return _open(path, one.flags)

    def _same(self, one: Found) -> int:
        """The parent's own file, only to be read, by the path that we see it at."""
        if one.file in self._written:
            raise PermissionError(errno.EACCES, "it is written", one.path)
        return self._for_reading(one)

    def _copy(self, one: Found) -> int:
        if one.flags & _O_PATH or one.path.startswith("/sys/"):
            raise OSError(errno.EINVAL, "no content to copy", one.path)
        return self._copies.open(one)

    def _for_reading(self, one: Found) -> int:
        """Not for writing: our copy of a carried file, else the parent's own, not what has taken its place."""
        flags = one.flags & ~(os.O_ACCMODE | os.O_APPEND)
        ours = self._here(one.path)
        new = _open(ours or one.path, flags)
        if ours or os.path.samestat(os.fstat(new), one.status):
            return new
        os.close(new)
        raise FileNotFoundError(errno.ENOENT, "it is another file here", one.path)


class _Copies:
    """Copies in memory, one for each file."""

    def __init__(self, found: Sequence[Found]) -> None:
        self._sources = {one.file: one.number for one in found if one.is_file and one.reads}
        self._made: dict[tuple[int, int], int] = {}
        self._left = COPIED

    def open(self, one: Found) -> int:
        """A description of its own of the copy, with the access mode of the original."""
        if one.file not in self._made:
            self._made[one.file] = self._copy(one)
        return os.open(f"/proc/self/fd/{self._made[one.file]}", one.flags & _KEPT_FLAGS | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the copies; those in use live on."""
        for copy in self._made.values():
            os.close(copy)

    def _copy(self, one: Found) -> int:
        """The content; as many zeros where no descriptor can read it, which tells no difference."""
        source, size = self._sources.get(one.file), one.status.st_size
        if source is not None and size > self._left:
            raise OSError(errno.EFBIG, "too large to copy", one.path)
        copy = os.memfd_create(os.path.basename(one.path)[:200], os.MFD_CLOEXEC)
        try:
            os.ftruncate(copy, size)
            if source is not None:
                _pour(source, copy, size)
                self._left -= size
        except OSError:
            os.close(copy)
            raise
        return copy


def _pour(source: int, target: int, size: int) -> None:
    done = 0
    while done < size:
        count = os.sendfile(target, source, done, size - done)  # at an offset of its own: the shared one stays
        if count == 0:
            break
        done += count


def _open(path: str, flags: int) -> int:
    """Open a regular file, nothing else, with what is kept of these flags."""
    wanted = flags & (_KEPT_FLAGS | _O_PATH)
    new = os.open(path, wanted | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a fifo must not hold us up
    if not stat.S_ISREG(os.fstat(new).st_mode):
        os.close(new)
        raise FileNotFoundError(errno.ENOENT, "not a regular file", path)
    if not wanted & (os.O_NONBLOCK | _O_PATH):
        fcntl.fcntl(new, fcntl.F_SETFL, wanted)
    return new


def _seek(descriptor: int, offset: int) -> None:
    if offset:
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
        except OSError:
            return  # a folder's position that another file system does not know: it is listed from its start


def _is_mapped(path: str) -> bool:
    """Whether this process has the file in its memory: then it is used through that, and the descriptor is idle."""
    with open("/proc/self/maps", "rb") as lines:
        return any(line.endswith(os.fsencode(f" {path}\n")) for line in lines)


def _below(path: str, folders: Collection[str]) -> str | None:
    """The innermost of these folders that the path is, or is in."""
    around = [one for one in folders if one and (path == one or path.startswith(one.rstrip("/") + "/"))]
    return max(around, key=len, default=None)
