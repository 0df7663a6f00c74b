"""System calls of Linux that Python has no names for: namespaces, mounts, capabilities, system call filters.

Each raises OSError with what was tried. All of them act on the calling process alone and are meant for one that has
just been forked. Numbers are the same on every architecture (they are of 5.2 and later); a C library that lacks a
function is no hindrance.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_RDONLY, MS_REC, MS_MOVE, MS_PRIVATE = 2, 4, 8, 1, 0x4000, 0x2000, 1 << 18
CAP_SETFCAP = 31

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE, _CLOEXEC = 1, 6, 1
_UNSHARE = {"x86_64": 272, "aarch64": 97, "riscv64": 97, "ppc64le": 282, "s390x": 303}
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
PERMIT_WORDS = 4
"""Words of eight bytes that a permit has: as many as `unshare` leaves registers unused and a filter can look at."""
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MNT_DETACH = 2
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
_LAST_CAP = 63
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def checked(result: int, what: str) -> int:
    """The result.

    Raises:
        OSError: it is negative; with the number of the error and what was tried.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def unshare(flags: int, permit: int | None = None) -> None:
    """Enter new namespaces; the process must have one thread.

    `permit` is a file with the words that a filter wants in the registers of the call that the kernel ignores.
    """
    if permit is None:
        checked(_libc.unshare(ctypes.c_int(flags)), "unshare")
        return
    with _secret(permit) as buffer:
        words = [ctypes.c_ulong.from_buffer(buffer, 8 * index) for index in range(PERMIT_WORDS)]
        checked(_libc.syscall(ctypes.c_long(_UNSHARE[os.uname().machine]), ctypes.c_long(flags), *words), "unshare")


def install_filter(file: int) -> None:
    """Install the system call filter (seccomp) that a file holds, for this process and all that it starts, for good.

    The process must have one thread.
    """
    with _secret(file) as buffer:
        _install(buffer)


def install_program(program: bytes) -> None:
    """Install a system call filter that is no secret; see `install_filter`."""
    _install(ctypes.create_string_buffer(program, len(program)))


def _install(buffer: ctypes.Array[ctypes.c_char]) -> None:
    forbid_new_privileges()
    program = _Program(len(buffer) // 8, ctypes.addressof(buffer))
    checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "install a filter")


@contextlib.contextmanager
def _secret(file: int) -> Iterator[ctypes.Array[ctypes.c_char]]:
    """The content of a file, which does not stay in memory: forks of this process must not find it there."""
    buffer = ctypes.create_string_buffer(os.fstat(file).st_size)
    try:
        os.preadv(file, [buffer], 0)
        yield buffer
    finally:
        ctypes.memset(buffer, 0, len(buffer))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    words = (os.fsencode(word) if word else None for word in (source, target, kind))
    result = _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) if data else None)
    checked(result, f"mount {kind or source} at {target}")


def unmount(target: str) -> None:
    """Unmount now, what is still used of it later."""
    checked(_libc.umount2(os.fsencode(target), _MNT_DETACH), f"unmount {target}")


def detached_mount(kind: str, flags: int, options: Mapping[str, str]) -> int:
    """A descriptor of a new file system that is mounted nowhere; it ends with the last descriptor of it."""
    context = checked(call(_FSOPEN, kind.encode(), _CLOEXEC), f"open {kind}")
    try:
        for name, value in options.items():
            result = call(_FSCONFIG, context, _FSCONFIG_SET_STRING, name.encode(), value.encode(), 0)
            checked(result, f"set {name} of {kind}")
        checked(call(_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0), f"make {kind}")
        return checked(call(_FSMOUNT, context, _CLOEXEC, flags), f"mount {kind}")
    finally:
        os.close(context)


def clone_tree(path: str) -> int:
    """A descriptor of a copy of the mount at the path and of those below, attached nowhere yet."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return checked(call(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags), f"clone {path}")


def attach(tree: int, target: str) -> None:
    """Mount what `clone_tree` gave at the target, and close it."""
    try:
        result = call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
        checked(result, f"attach at {target}")
    finally:
        os.close(tree)


def make_read_only(place: str | int, *, below: bool = True) -> None:
    """Make a mount (a path, or what `clone_tree` gave) read-only, and, as a rule, those below it."""
    attr = _MountAttr(attr_set=MS_RDONLY)
    at, path = (_AT_FDCWD, os.fsencode(place)) if isinstance(place, str) else (place, b"")
    flags = (_AT_RECURSIVE if below else 0) | (0 if isinstance(place, str) else _AT_EMPTY_PATH)
    size = ctypes.c_size_t(ctypes.sizeof(attr))
    checked(call(_MOUNT_SETATTR, at, path, flags, ctypes.byref(attr), size), f"make {place} read-only")


def drop_capabilities(*, keep: int = 0) -> None:
    """Give up every capability but those in the mask, and whatever could bring them back."""
    for capability in range(_LAST_CAP + 1):
        if not keep >> capability & 1:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    forbid_new_privileges()
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = keep & 0xFFFFFFFF, keep >> 32
    checked(_libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)), "capset")


def forbid_new_privileges() -> None:
    """No program that is started from now on has more rights than this process."""
    checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def call(number: int, *arguments: object) -> int:
    """syscall(2): what it returns, -1 with errno set when it failed."""
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return int(_libc.syscall(ctypes.c_long(number), *converted))
