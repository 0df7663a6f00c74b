"""Linux system calls for which Python has no functions, Landlock, and the tie of child processes to their starter."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable, Iterator, Mapping

# Linux system calls for which Python has no functions: namespaces, mounts, capabilities, system call filters.
#
# Each raises OSError with a description of the attempt. All of them affect the calling process alone and are meant
# for a freshly forked one. The numbers are the same on every architecture (from Linux 5.2 and later); the C library
# need not have functions for them.

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_RDONLY, MS_REC, MS_MOVE, MS_PRIVATE = 2, 4, 8, 1, 0x4000, 0x2000, 1 << 18
CAP_SETFCAP = 31

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE, _CLOEXEC = 1, 6, 1
_UNSHARE = {"x86_64": 272, "aarch64": 97, "riscv64": 97, "ppc64le": 282, "s390x": 303}
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
PERMIT_WORDS = 4
"""Eight-byte words in a permit: as many as there are registers that `unshare` ignores and a filter can inspect."""
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_MOVE_MOUNT_F_EMPTY_PATH = 4
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
_LAST_CAP = 63
_MNT_DETACH = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def check_result(result: int, attempt: str) -> int:
    """Return the result of a system call.

    Raises OSError if it is negative; with the error number and what was attempted.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{attempt}: {os.strerror(number)}")
    return result


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def unshare(flags: int, permit: int | None = None) -> None:
    """Enter new namespaces; the process must have one thread.

    `permit` is a file with the words that a filter requires in the registers that the system call itself ignores.
    """
    if permit is None:
        check_result(_libc.unshare(ctypes.c_int(flags)), "unshare")
        return
    with _read_secret(permit) as buffer:
        arguments = [ctypes.c_ulong.from_buffer(buffer, 8 * index) for index in range(PERMIT_WORDS)]
        check_result(
            _libc.syscall(ctypes.c_long(_UNSHARE[os.uname().machine]), ctypes.c_long(flags), *arguments), "unshare"
        )


def install_filter(descriptor: int) -> None:
    """Install the system call filter (seccomp) from a file, permanently for this process and its descendants.

    The process must have one thread.
    """
    with _read_secret(descriptor) as buffer:
        _install(buffer)


def install_program(program: bytes) -> None:
    """Install a system call filter that need not be secret; see `install_filter`."""
    _install(ctypes.create_string_buffer(program, len(program)))


def _install(buffer: ctypes.Array[ctypes.c_char]) -> None:
    forbid_new_privileges()
    program = _Program(len(buffer) // 8, ctypes.addressof(buffer))
    check_result(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "install a filter")


@contextlib.contextmanager
def _read_secret(descriptor: int) -> Iterator[ctypes.Array[ctypes.c_char]]:
    """Yield the content of a file and erase it from memory afterwards, so that forks of this process cannot find it."""
    buffer = ctypes.create_string_buffer(os.fstat(descriptor).st_size)
    try:
        os.preadv(descriptor, [buffer], 0)
        yield buffer
    finally:
        ctypes.memset(buffer, 0, len(buffer))


def mount(source: str, target: str, file_system: str = "", flags: int = 0, data: str = "") -> None:
    """Call mount(2)."""
    arguments = (os.fsencode(word) if word else None for word in (source, target, file_system))
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), os.fsencode(data) if data else None)
    check_result(result, f"mount {file_system or source} at {target}")


def unmount(mount_point: str) -> None:
    """Detach the mount at this path and those below it."""
    check_result(_libc.umount2(os.fsencode(mount_point), ctypes.c_int(_MNT_DETACH)), f"unmount {mount_point}")


def detached_mount(file_system: str, flags: int, options: Mapping[str, str]) -> int:
    """Return a descriptor of a new file system that is mounted nowhere; it vanishes with its last descriptor."""
    context = check_result(call(_FSOPEN, file_system.encode(), _CLOEXEC), f"open {file_system}")
    try:
        for name, value in options.items():
            result = call(_FSCONFIG, context, _FSCONFIG_SET_STRING, name.encode(), value.encode(), 0)
            check_result(result, f"set {name} of {file_system}")
        check_result(call(_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0), f"make {file_system}")
        return check_result(call(_FSMOUNT, context, _CLOEXEC, flags), f"mount {file_system}")
    finally:
        os.close(context)


def clone_tree(path: str) -> int:
    """Return a descriptor of a copy of the mount at the path and of those below, not attached anywhere yet."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return check_result(call(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags), f"clone {path}")


def attach(tree: int, target: str) -> None:
    """Mount the result of `clone_tree` at the target, and close it."""
    try:
        result = call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
        check_result(result, f"attach at {target}")
    finally:
        os.close(tree)


def make_read_only(mount_point: str | int, *, recursive: bool = True, devices: bool = False) -> None:
    """Make a mount (a path, or a result of `clone_tree`) read-only, by default with the mounts below it.

    A read-only mount does not keep anybody from writing to a device in it: unless it is to have `devices`, none of them
    can be opened.
    """
    attr = _MountAttr(attr_set=MS_RDONLY if devices else MS_RDONLY | MS_NODEV)
    directory, path = (_AT_FDCWD, os.fsencode(mount_point)) if isinstance(mount_point, str) else (mount_point, b"")
    flags = (_AT_RECURSIVE if recursive else 0) | (0 if isinstance(mount_point, str) else _AT_EMPTY_PATH)
    size = ctypes.c_size_t(ctypes.sizeof(attr))
    check_result(
        call(_MOUNT_SETATTR, directory, path, flags, ctypes.byref(attr), size), f"make {mount_point} read-only"
    )


def drop_capabilities(*, keep: int = 0) -> None:
    """Drop every capability except those in the mask, and everything that could restore them."""
    for capability in range(_LAST_CAP + 1):
        if not keep >> capability & 1:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    forbid_new_privileges()
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = keep & 0xFFFFFFFF, keep >> 32
    check_result(_libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)), "capset")


def forbid_new_privileges() -> None:
    """Prevent programs started from now on from gaining more rights than this process."""
    check_result(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def call(number: int, *arguments: object) -> int:
    """Call syscall(2): returns its result, or -1 with errno set if it failed."""
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return int(_libc.syscall(ctypes.c_long(number), *converted))


# Landlock: permanently removes rights to files, TCP and signals from this process and its descendants.
#
# It needs no namespace and no privilege, but can only allow: a path is hidden by not being listed as readable. Up
# to 16 layers stack, and an access must be allowed by each. See landlock(7); each right is used from the interface
# version that introduced it.

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_READ_RIGHTS = 0b1101  # execute, read files, list folders
_FILE_RIGHTS = 0b111
_TRUNCATE_RIGHT = 1 << 14
_REFER_SINCE, _TRUNCATE_SINCE, _TCP_SINCE, _SCOPE_SINCE = 2, 3, 4, 6
_BASE_RIGHTS = (1 << 13) - 1
_REFER_RIGHT = 1 << 13
_TCP_RIGHTS = 0b11  # bind, connect
_SCOPES = 0b11  # abstract UNIX sockets, signals


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("handled_access_fs", "handled_access_net", "scoped")]


class _PathBeneathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def version() -> int:
    """Return the version of the interface; 0 if unavailable."""
    return max(0, call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(*, readable: Iterable[str], writable: Iterable[str], network: bool) -> None:
    """Allow reading some files and folders, writing others as well, and nothing else; TCP only with `network`.

    Raises OSError if Landlock is unavailable, or there are 16 layers already.
    """
    abi, handled = version(), _BASE_RIGHTS
    for right, since in ((_REFER_RIGHT, _REFER_SINCE), (_TRUNCATE_RIGHT, _TRUNCATE_SINCE)):
        handled |= right if abi >= since else 0
    rules = _Ruleset(
        handled_access_fs=handled,
        handled_access_net=_TCP_RIGHTS if abi >= _TCP_SINCE and not network else 0,
        scoped=_SCOPES if abi >= _SCOPE_SINCE else 0,
    )
    ruleset = check_result(
        call(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0), "create a Landlock ruleset"
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ_RIGHTS)
        for path in writable:
            _allow(ruleset, path, handled)
        forbid_new_privileges()
        check_result(call(_RESTRICT_SELF, ruleset, 0), "apply Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is gone
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            rights &= _FILE_RIGHTS | _TRUNCATE_RIGHT
        rule = _PathBeneathRule(allowed_access=rights, parent_fd=descriptor)
        check_result(call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"allow {path}")
    finally:
        os.close(descriptor)


# Ties the processes that this one starts to it, so that they are found when it is ended.

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that a daemon stays in this process's tree (Linux)."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
