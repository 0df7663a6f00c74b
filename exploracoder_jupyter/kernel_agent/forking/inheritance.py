"""Isolates a freshly forked process from descriptors, memory and keys that it shares with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import gc
import mmap
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from exploracoder_jupyter.kernel_agent.forking import fork_hazards
from exploracoder_jupyter.kernel_agent.forking.descriptor_replacements import Descriptor, DescriptorReplacer

# Isolates a freshly forked process from the descriptors that it shares with its parent.
#
# A fork inherits every descriptor, and with it the open file description: its offset, its flags, the other end of a
# pipe. `InheritedDescriptors.survey` records all descriptors right after the fork, while paths still mean what they
# meant in the parent. Once the process has its own view of the files, `InheritedDescriptors.replace_all` replaces
# each descriptor by the same file reopened at the same offset, a copy in memory, or `/dev/null`. Nothing opened
# under the parent's mounts is kept, not even for reading, as it could be reopened for writing through
# `/proc/self/fd`.

_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}.get(os.uname().machine)
_KCMP_FILE = 0
_KCMP_RESULTS = {0: 0, 1: -1, 2: 1}
_libc_kcmp = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class InheritedDescriptors:
    """The descriptors that this process shares with its parent."""

    descriptors: tuple[Descriptor, ...]

    @classmethod
    def survey(cls, keep: Collection[int]) -> InheritedDescriptors:
        """Record every descriptor that is not in `keep`, with its offset.

        Call this while the process has one thread, as soon as possible after the fork: until then the parent may move
        an offset. Changes nothing, and needs a `/proc` that shows this process.
        """
        numbers = sorted({*map(int, os.listdir("/proc/self/fd"))}.difference(keep))
        descriptors = [descriptor for number in numbers if (descriptor := _inspect(number)) is not None]
        return cls(tuple(_mark_duplicates(descriptors)))

    def of_kernel(self, addresses: Collection[int | str], streams: Collection[int], history: str) -> set[int]:
        """Return what is the kernel's rather than the user's, for `quiet`.

        These are sockets with one of these ports or paths at either end, pipes (usually to its helper processes), files
        whose path starts with that of the history, and all descriptors of the files behind its standard streams (such
        as the log of its server).
        """
        logs = {descriptor.file for descriptor in self.descriptors if descriptor.number in streams}
        return {
            descriptor.number
            for descriptor in self.descriptors
            if stat.S_ISFIFO(descriptor.status.st_mode)
            or descriptor.file in logs
            or descriptor.path.startswith(history)
            or not fork_hazards.endpoints(descriptor.number).isdisjoint(addresses)
        }

    def replace_all(
        self,
        carried: Mapping[str, str],
        *,
        hidden: Collection[str] = (),
        shown: Collection[str] = (),
        quiet: Collection[int] = (),
    ) -> list[str]:
        """Replace all recorded descriptors; return one clause for the user for each that has lost its function.

        `carried` maps the real paths of folders of which this process has its own copy to the paths of the copies.
        Files at or below one of `hidden` are not reopened, unless the innermost folder around them from both `hidden`
        and `shown` is one of `shown`. Descriptors in `quiet` are not reported. A descriptor that has changed since is
        left alone. Raises OSError if `/dev/null` cannot be opened: this process must then exit.
        """
        unchanged = [descriptor for descriptor in self.descriptors if _is_unchanged(descriptor)]
        clauses = []
        replacer = DescriptorReplacer(unchanged, copied_folders=carried, hidden=hidden, shown=shown)
        try:
            for descriptor in unchanged:
                clause = replacer.replace(descriptor)
                if clause and descriptor.number not in quiet:
                    clauses.append(clause)
        finally:
            replacer.close()
        return list(dict.fromkeys(clauses))


def _inspect(number: int) -> Descriptor | None:
    """Inspect a descriptor; None if it is closed, such as the one that listed them."""
    try:
        status, flags = os.fstat(number), fcntl.fcntl(number, fcntl.F_GETFL)
        path = os.readlink(f"/proc/self/fd/{number}")
        inheritable = os.get_inheritable(number)
    except OSError as error:
        if error.errno in (errno.EBADF, errno.ENOENT):
            return None
        raise
    offset = 0
    with contextlib.suppress(OSError):  # opened with O_PATH, or a kernel file without an offset
        if stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR):
            offset = os.lseek(number, 0, os.SEEK_CUR)
    return Descriptor(number, status, flags, path, offset, inheritable)


def _is_unchanged(descriptor: Descriptor) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor.number), descriptor.status)
    except OSError:
        return False


def _mark_duplicates(descriptors: list[Descriptor]) -> list[Descriptor]:
    """Mark descriptors duplicated by `dup`: they share an offset, and must share the new description.

    Only descriptors with equal file, flags and offset can be duplicates. `kcmp` orders open file descriptions, so
    sorting puts duplicates side by side, however many descriptors there are.
    """
    candidates: dict[object, list[int]] = {}
    for descriptor in descriptors:
        if descriptor.is_file or descriptor.is_folder:
            candidates.setdefault((descriptor.file, descriptor.flags, descriptor.offset), []).append(descriptor.number)
    originals: dict[int, int] = {}
    for group in candidates.values():
        for left, right in pairwise(sorted(group, key=functools.cmp_to_key(_compare_descriptions))):
            if _compare_descriptions(left, right) == 0:
                originals[right] = originals.get(left, left)
    return [replace(descriptor, duplicate_of=originals.get(descriptor.number)) for descriptor in descriptors]


def _compare_descriptions(left: int, right: int) -> int:
    """Compare two open file descriptions, 0 if identical; by number, so never equal, if `kcmp` is unavailable."""
    if _KCMP is not None:
        me = os.getpid()
        result = int(_libc_kcmp.syscall(_KCMP, me, me, _KCMP_FILE, left, right))
        if result in _KCMP_RESULTS:
            return _KCMP_RESULTS[result]
    return left - right


# Isolates a freshly forked process from the memory that it shares with its parent.
#
# After a fork, memory is shared until written, except for shared mappings: mapped files (`numpy.memmap`, databases)
# and memory for several processes. A mapped file becomes a private mapping of the same file at the same address:
# nothing is copied until it is written, and writes stay in this process. Memory without a file is copied to new
# memory, shared only with processes that this one starts. Read-only mappings are treated alike, since native code
# could make them writable. If all mappings are private already, this costs only reading one small file.

MAX_COPIED_BYTES = 256 * 2**20
"""Bytes of shared memory that are copied, in total for one process."""

_MAP_FIXED = 0x10
_MOVE_TO_ADDRESS = 0b11  # MREMAP_MAYMOVE, MREMAP_FIXED
_NOWHERE = ctypes.c_void_p(-1).value
_MAP_NORESERVE = 0x4000
_DELETED = " (deleted)"
_TOO_LARGE = f"more than {MAX_COPIED_BYTES // 2**20} MB are not copied"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mremap.restype = ctypes.c_void_p
_libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class _SharedMapping:
    """A shared part of the address space: a line of `/proc/self/maps`."""

    start: int
    size: int
    protection: int
    offset: int
    device: int
    inode: int
    name: str

    @property
    def source(self) -> tuple[int, ...]:
        """Identity of what is mapped. Anonymous inodes of the kernel share one number, so each part is separate."""
        return (self.start,) if self.name.startswith("anon_inode:") else (self.device, self.inode)

    @property
    def in_memory(self) -> bool:
        """Whether it has no path that will outlive the process."""
        return not self.name.startswith("/") or self.name.endswith(_DELETED) or self.name.startswith("/dev/shm/")

    @property
    def is_device(self) -> bool:
        """Whether it belongs to a driver: such memory cannot be moved."""
        return self.name.startswith(("/dev/", "/dmabuf")) and not self.in_memory


def make_private() -> list[str]:
    """Detach every shared mapping from the parent, keeping address and content.

    Call this while the process has one thread, before it changes its view of files, its descriptors or its limits: the
    mapped files are found by their paths and through open descriptors. Returns a clause for the user for each mapping
    that could not be detached because it belongs to a driver, the system refuses, or it is too large to copy (such a
    mapping becomes read-only, until native code changes that). Unless the list is empty, the process is not safe for
    untrusted code.
    """
    was_enabled = gc.isenabled()
    gc.disable()  # nothing may be unmapped while we work with addresses
    try:
        return list(_detach_all())
    finally:
        if was_enabled:
            gc.enable()


def _detach_all() -> Iterator[str]:
    groups: dict[tuple[int, ...], list[_SharedMapping]] = {}
    for part in _read_shared_mappings():  # the parts of the same file must still see each other's changes
        groups.setdefault(part.source, []).append(part)
    remaining = MAX_COPIED_BYTES
    for parts in groups.values():
        name = parts[0].name.removesuffix(_DELETED)
        if parts[0].is_device:
            yield f"the memory of {name} is shared"
            continue
        size = sum(part.size for part in parts)
        problem, copied = _detach(parts, may_copy=size <= remaining)
        remaining -= size if copied else 0
        if problem:  # the system calls unnamed memory `/dev/zero`
            yield f"{'memory between processes' if name in ('', '/dev/zero') else name} is shared: {problem}"


def _read_shared_mappings() -> Iterator[_SharedMapping]:
    with open("/proc/self/maps", "rb") as lines:
        shared = [line for line in lines if line[line.index(b" ") + 4 :].startswith(b"s")]
    for line in shared:
        span, permissions, offset, device, inode, *name = line.rstrip(b"\n").split(maxsplit=5)
        start, end = (int(value, 16) for value in span.split(b"-"))
        number = os.makedev(*(int(value, 16) for value in device.split(b":")))
        text = os.fsdecode(name[0].replace(b"\\012", b"\n")) if name else ""
        protection = sum(bit for flag, bit in zip(permissions, (1, 2, 4), strict=False) if flag != ord("-"))
        yield _SharedMapping(start, end - start, protection, int(offset, 16), number, int(inode), text)


def _detach(parts: list[_SharedMapping], *, may_copy: bool) -> tuple[str, bool]:
    """Use the first method that works. Returns why none did, and whether memory was copied."""
    methods = [_map_copy, _map_privately] if parts[0].in_memory else [_map_privately, _map_copy]
    problem = ""
    for method in methods:
        if method is _map_copy and not may_copy:
            problem = _TOO_LARGE
            continue
        try:
            method(parts)
        except OSError as error:
            problem = problem or os.strerror(error.errno or errno.EIO)
        else:
            return "", method is _map_copy
    for part in parts:
        _libc.mprotect(part.start, part.size, part.protection & ~mmap.PROT_WRITE)
    return (problem, False) if any(part.protection & mmap.PROT_WRITE for part in parts) else ("", False)


def _map_copy(parts: list[_SharedMapping]) -> None:
    """Map a copy in memory, still shared, so that processes started from here share it with this one.

    The copy never has a descriptor: experiments, some of which fork, may not make files in memory.
    """
    size = max(part.offset + part.size for part in parts)
    flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    copy = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if copy == _NOWHERE:
        raise OSError(ctypes.get_errno(), "cannot be copied", parts[0].name)
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for part in parts:
            _read_content(part, memory, copy + part.offset)
        for part in parts:  # an old size of 0 maps shared memory once more
            moved = _libc.mremap(copy + part.offset, 0, part.size, _MOVE_TO_ADDRESS, part.start)
            if moved != part.start or _libc.mprotect(part.start, part.size, part.protection):
                raise OSError(ctypes.get_errno(), "cannot be mapped again", part.name)
    finally:
        os.close(memory)
        _libc.munmap(copy, size)


def _read_content(part: _SharedMapping, memory: int, target: int) -> None:
    """Read the part through a file, which turns a hole in the mapping into an error instead of a crash."""
    copy = memoryview((ctypes.c_char * part.size).from_address(target))
    done = 0
    while done < part.size:
        try:
            done += os.preadv(memory, [copy[done:]], part.start + done)
        except OSError as error:
            if error.errno == errno.EIO and (done or not part.protection & mmap.PROT_READ):
                return  # beyond the end of a truncated file, or memory that is not readable at all
            raise


def _map_privately(parts: list[_SharedMapping]) -> None:
    for part in parts:
        file, opened = _open_source(part)
        try:
            _map_at_address(part, file, mmap.MAP_PRIVATE | _MAP_NORESERVE)
        finally:
            if opened:
                os.close(file)


def _open_source(part: _SharedMapping) -> tuple[int, bool]:
    """Return a descriptor of the mapped file and whether to close it. Raises OSError if there is none."""
    span = f"/proc/self/map_files/{part.start:x}-{part.start + part.size:x}"  # needs privileges
    for path in (part.name, span):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        if _is_source(part, os.fstat(file)):
            return file, True
        os.close(file)
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # the descriptor of the listing
            readable = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
            if readable and _is_source(part, os.fstat(number)):
                return number, False
    raise FileNotFoundError(errno.ENOENT, "nothing leads to it", part.name)


def _is_source(part: _SharedMapping, status: os.stat_result) -> bool:
    """Return whether this is the mapped file; layered file systems show different devices here and in `maps`."""
    if not stat.S_ISREG(status.st_mode) or status.st_ino != part.inode:
        return False
    return status.st_dev == part.device or not part.in_memory


def _map_at_address(part: _SharedMapping, file: int, flags: int) -> None:
    address = _libc.mmap(part.start, part.size, part.protection, flags | _MAP_FIXED, file, part.offset)
    if address != part.start:
        raise OSError(ctypes.get_errno(), "cannot be mapped again", part.name)


# Removes the keys with which the parent kernel signs its messages from a fork.
#
# Whoever has the key of a kernel and reaches its ports can run code in it. The objects that hold it are cleared,
# then the memory is searched for copies: of the connection file, of configuration, in freed memory.

MAX_SEARCHED_BYTES = 512 * 2**20
"""Bytes of memory to search, smallest regions first: they contain what is read once at the start of a kernel."""
_MIN_KEY_LENGTH = 8
"""Minimum length of a key in bytes. Nobody chooses shorter ones, and erasing them would hit unrelated memory."""
_CURVE = ("curve_publickey", "curve_secretkey")
_SEARCHED_REGIONS = ("[heap]", "[stack]")
_libc_memmem = ctypes.CDLL(None)
_libc_memmem.memmem.restype = ctypes.c_void_p
_libc_memmem.memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def erase_keys(app: Any) -> None:
    """Erase everything that could sign the application's messages. Call this while the process has one thread."""
    session = app.session
    keys = [session.key, *(getattr(app, name, None) for name in _CURVE)]
    session.key = b""  # also drops the signer made from it
    app.connection_file = session.keyfile = ""
    for name in _CURVE:
        if getattr(app, name, None):
            setattr(app, name, None)
    if "Session" in app.config:
        for name in ("key", "keyfile"):
            app.config.Session.pop(name, None)
    for key in keys:
        if isinstance(key, bytes) and len(key) >= _MIN_KEY_LENGTH:
            _erase(key)


def _erase(key: bytes) -> None:
    """Zero every occurrence of these bytes, this object's included."""
    size = len(key)
    for address in list(_find_occurrences(key)):
        ctypes.memset(address, 0, size)


def _find_occurrences(key: bytes) -> Iterator[int]:
    remaining = MAX_SEARCHED_BYTES
    for start, end in sorted(_writable_regions(), key=lambda region: region[1] - region[0]):
        remaining -= end - start
        if remaining < 0:
            return
        while found := _libc_memmem.memmem(start, end - start, key, len(key)):
            yield found
            start = found + len(key)


def _writable_regions() -> Iterator[tuple[int, int]]:
    """Yield writable memory without a file: reading beyond the end of a truncated file would crash the process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            addresses, permissions, _, _, _, *name = line.split(maxsplit=5)
            if permissions.startswith("rw") and (not name or name[0].strip() in _SEARCHED_REGIONS):
                start, _, end = addresses.partition("-")
                yield int(start, 16), int(end, 16)
