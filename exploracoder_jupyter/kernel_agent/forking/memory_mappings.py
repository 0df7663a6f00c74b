"""Cuts a freshly forked process off from the memory that it shares with its parent.

After a fork, memory is shared until written, except for what was mapped as shared: maps of files (`numpy.memmap`,
databases) and memory for several processes. A map of a file becomes a private map of the same file at the same
address: nothing is copied until it is written, and the writing stays here. Memory without a file is copied to memory
of our own, shared with processes that we start and with no other. Maps opened only to be read are treated alike, since
native code could make them writable. A process whose maps are all private already pays for reading one small file.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import gc
import mmap
import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COPIED = 256 * 2**20
"""Bytes of shared memory that are copied, all of one process together."""

_MAP_FIXED = 0x10
_MAP_NORESERVE = 0x4000
_DELETED = " (deleted)"
_WHY_NOT = f"more than {COPIED // 2**20} MB are not copied"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class _Shared:
    """A part of the address space that is shared with others: a line of `/proc/self/maps`."""

    start: int
    size: int
    protection: int
    offset: int
    device: int
    inode: int
    name: str

    @property
    def source(self) -> tuple[int, ...]:
        """What is mapped. Files of the kernel's own making share one inode, so there each part is by itself."""
        return (self.start,) if self.name.startswith("anon_inode:") else (self.device, self.inode)

    @property
    def in_memory(self) -> bool:
        """Whether no path leads to it that will outlive the process."""
        return not self.name.startswith("/") or self.name.endswith(_DELETED) or self.name.startswith("/dev/shm/")

    @property
    def is_device(self) -> bool:
        """Whether a driver is behind it: its memory is not ours to move."""
        return self.name.startswith(("/dev/", "/dmabuf")) and not self.in_memory


def make_private() -> list[str]:
    """Cut every shared mapping off from the parent, at the same address and with the same content.

    For a process with one thread, before it changes its view of files, its descriptors or its limits: the files behind
    are found by their paths and through open descriptors. A clause for people is returned for each that could not be
    cut off, because a driver is behind it, the system refuses, or it is too large to copy (this one can only be read
    from now on, until native code says otherwise). Unless the list is empty, the process is not safe for others' code.
    """
    left, clauses = COPIED, []
    with _no_collection():
        for parts in _sources(_listed()):
            if parts[0].is_device:
                clauses.append(f"the memory of {parts[0].name} is shared")
                continue
            size = sum(part.size for part in parts)
            problem, copied = _cut(parts, may_copy=size <= left)
            left -= size if copied else 0
            if problem:
                clauses.append(f"{_called(parts[0])} is shared: {problem}")
    return clauses


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing may be unmapped while we work by address, as by the end of an object in a cycle."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _listed() -> Iterator[_Shared]:
    with open("/proc/self/maps", "rb") as lines:
        shared = [line for line in lines if line[line.index(b" ") + 4 :].startswith(b"s")]
    for line in shared:
        span, rights, offset, device, inode, *name = line.rstrip(b"\n").split(maxsplit=5)
        start, end = (int(each, 16) for each in span.split(b"-"))
        major, minor = (int(each, 16) for each in device.split(b":"))
        text = os.fsdecode(name[0].replace(b"\\012", b"\n")) if name else ""
        protection = sum(bit for letter, bit in zip(rights, (1, 2, 4), strict=False) if letter != ord("-"))
        where = os.makedev(major, minor)
        yield _Shared(start, end - start, protection, int(offset, 16), where, int(inode), text)


def _sources(parts: Iterable[_Shared]) -> list[list[_Shared]]:
    """Parts of the same file together: they must go on seeing each other's changes."""
    together: dict[tuple[int, ...], list[_Shared]] = {}
    for part in parts:
        together.setdefault(part.source, []).append(part)
    return list(together.values())


def _cut(parts: list[_Shared], *, may_copy: bool) -> tuple[str, bool]:
    """Take the first way that works. Returns why none did, and whether it was copied."""
    ways = [_copy, _map_again] if parts[0].in_memory else [_map_again, _copy]
    problem = ""
    for way in ways:
        if way is _copy and not may_copy:
            problem = _WHY_NOT
            continue
        try:
            way(parts)
        except OSError as error:
            problem = problem or os.strerror(error.errno or errno.EIO)
        else:
            return "", way is _copy
    for part in parts:
        _libc.mprotect(part.start, part.size, part.protection & ~mmap.PROT_WRITE)
    return (problem, False) if any(part.protection & mmap.PROT_WRITE for part in parts) else ("", False)


def _copy(parts: list[_Shared]) -> None:
    """Map a copy in memory, still shared, so that processes started from here go on sharing it with us."""
    copy = os.memfd_create("shared", os.MFD_CLOEXEC)
    try:
        os.ftruncate(copy, max(part.offset + part.size for part in parts))
        for part in parts:
            _pour(part, copy)
        for part in parts:
            _place(part, copy, mmap.MAP_SHARED)
    finally:
        os.close(copy)


def _pour(part: _Shared, copy: int) -> None:
    """Write what can be read; the system looks, so that a hole in the mapping is an error and not our end."""
    memory = memoryview((ctypes.c_char * part.size).from_address(part.start))
    done = 0
    while done < part.size:
        try:
            done += os.pwrite(copy, memory[done:], part.offset + done)
        except OSError as error:
            if error.errno == errno.EFAULT and (done or not part.protection & mmap.PROT_READ):
                return  # beyond the end of a file that was cut, or not to be read by anybody
            raise


def _map_again(parts: list[_Shared]) -> None:
    """Map the same file privately."""
    for part in parts:
        file, ours = _opened(part)
        try:
            _place(part, file, mmap.MAP_PRIVATE | _MAP_NORESERVE)
        finally:
            if ours:
                os.close(file)


def _opened(part: _Shared) -> tuple[int, bool]:
    """A descriptor of the file behind, and whether it is for us to close. Raises OSError when nothing leads to it."""
    span = f"/proc/self/map_files/{part.start:x}-{part.start + part.size:x}"  # for the privileged only
    for path in (part.name, span):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        if _is_behind(part, os.fstat(file)):
            return file, True
        os.close(file)
    for number in map(int, os.listdir("/proc/self/fd")):
        if _can_read(number) and _is_behind(part, os.fstat(number)):
            return number, False
    raise FileNotFoundError(errno.ENOENT, "nothing leads to it", part.name)


def _is_behind(part: _Shared, status: os.stat_result) -> bool:
    """Whether this is the file; layered file systems tell another device here than in the list of mappings."""
    if not stat.S_ISREG(status.st_mode) or status.st_ino != part.inode:
        return False
    return status.st_dev == part.device or not part.in_memory


def _can_read(number: int) -> bool:
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    except OSError:
        return False  # the one that listed them


def _place(part: _Shared, file: int, kind: int) -> None:
    got = _libc.mmap(part.start, part.size, part.protection, kind | _MAP_FIXED, file, part.offset)
    if got != part.start:
        raise OSError(ctypes.get_errno(), "cannot be mapped again", part.name)


def _called(part: _Shared) -> str:
    """Its name for people; what has none is called `/dev/zero` by the system."""
    name = part.name.removesuffix(_DELETED)
    return "memory between processes" if name in ("", "/dev/zero") else name
