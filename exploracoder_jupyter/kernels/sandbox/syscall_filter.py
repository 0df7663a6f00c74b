"""Compiles the system call filter (seccomp) under which experiments run.

Namespaces, mounts and Landlock do not cover every call that reaches beyond them: keyrings, sockets of other families,
limits and priorities of other processes, and common escapes from containers. libseccomp generates the program once per
run; the confined process installs it (`kernel_agent.confinement.syscalls.install_filter`). Calls that are not listed
are allowed.

A branch in namespaces must be able to fork a branch in further namespaces, and a filter cannot distinguish our code
from a candidate's. It therefore allows `unshare` only if the unused registers of the call contain a *permit*: words
that are random in each run, and are passed only to the intermediate process of a fork, for the moment of the call.
"""

from __future__ import annotations

import ctypes
import errno
import secrets
import struct
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Final, Literal

from exploracoder_jupyter.kernel_agent.confinement.syscalls import PERMIT_WORDS

NO_FILTER_NOTE: Final = "no system call filter because libseccomp is not installed or not supported here"
"""Shown to the user for processes without a filter."""

Confinement = Literal["bubblewrap", "namespaces", "landlock", "limits"]

_PR_GET_SECCOMP: Final = 21
_INT: Final = 0xFFFFFFFF
"""The part of an `int` argument that the kernel reads: the other half of the register may contain anything."""
_NEW_NAMESPACES: Final = tuple(1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30))
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_OTHER_FAMILIES: Final = (*range(3, _INET6), *range(_INET6 + 1, _NETLINK))
_NOT_STREAMS: Final = (2, 3, 4, 5, 6, 10)
_STREAM_MASK, _TCP, _MPTCP = 0xF, 6, 262

# fmt: off
_FORBIDDEN: Final = (
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv",
    "process_vm_writev", "process_madvise", "pidfd_getfd", "open_by_handle_at", "fanotify_init", "setns", "chroot",
    "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "quotactl", "quotactl_fd", "acct", "swapon", "swapoff", "reboot", "syslog",
    "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "vhangup", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex",
)
_UNIMPLEMENTED: Final = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Fail as on a kernel without the call, so that programs use alternatives. Flags of `clone3` are in memory."""
_MOUNTS: Final = ("mount", "umount2", "open_tree", "move_mount", "mount_setattr")
_SYSTEM_V: Final = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink",
)
_PROCESS_ARGUMENTS: Final[tuple[tuple[str, int] | tuple[str, int, int], ...]] = (
    ("prlimit64", 0, 2), ("setpriority", 1), ("ioprio_set", 1), ("migrate_pages", 0), ("move_pages", 0),
)
"""Calls that change a process, with the argument that identifies it (0: the process itself), and another where 0 only
reads. `sched_setscheduler` and similar calls are missing because ZeroMQ uses them with the ids of its own threads."""
_METADATA_CALLS: Final = (
    "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat",
)
"""File changes that Landlock does not cover; `chmod` and `utimensat` are needed to copy one's own files."""
# fmt: on
_TERMINAL_INPUT: Final = (0x5412, 0x541C)
_FILE_LEASES: Final = (1024, 1026)
"""`F_SETLEASE` and `F_NOTIFY`, which delay other processes that open the file."""


@dataclass(frozen=True, slots=True)
class SyscallFilter:
    """A compiled filter, ready to be installed."""

    program: bytes
    """Instructions for the kernel's packet filter, eight bytes each."""
    permit: bytes
    """The words that allow `unshare` at the level of namespaces."""


def compile_filter(confinement: Confinement, *, network: bool) -> SyscallFilter | None:
    """Return the filter for processes confined in this way; `None` where this system has none."""
    pyseccomp = _load_pyseccomp()
    if pyseccomp is None:
        return None
    permit = secrets.token_bytes(8 * PERMIT_WORDS)
    rules = _Rules(pyseccomp)
    _add_common(rules)
    if confinement == "namespaces":
        for position, word in enumerate(struct.unpack(f"={PERMIT_WORDS}Q", permit), start=1):
            rules.deny_if(errno.EPERM, "unshare", rules.differs(position, word))
    else:
        rules.deny(errno.EPERM, "unshare", *_MOUNTS)
    if confinement in ("landlock", "limits"):  # processes that can see those of others
        rules.deny(errno.EPERM, *_SYSTEM_V)
        for call, *positions in _PROCESS_ARGUMENTS:
            rules.deny_if(errno.EPERM, call, *(rules.differs(position, 0) for position in positions))
    if confinement == "landlock":
        rules.deny(errno.EPERM, *_METADATA_CALLS)
        for family in () if network else (_INET, _INET6):  # all protocols but TCP, which Landlock denies itself
            for kind in _NOT_STREAMS:
                rules.deny_if(errno.EACCES, "socket", rules.has(0, _INT, family), rules.has(1, _STREAM_MASK, kind))
            rules.deny_if(errno.EACCES, "socket", rules.exceeds(2, _TCP), rules.has(0, _INT, family))
    return SyscallFilter(rules.compile(), permit)


def _load_pyseccomp() -> Any:
    """Import pyseccomp; `None` unless it and libseccomp are installed and Linux supports filters."""
    if not sys.platform.startswith("linux") or sys.maxsize < 1 << 32:
        return None
    try:
        import pyseccomp  # its import searches for the library by running a program
    except (ImportError, RuntimeError, OSError, AttributeError):
        return None
    return pyseccomp if ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 else None


class _Rules:
    """Collects the denied calls. Calls that this system does not have are skipped."""

    def __init__(self, pyseccomp: Any) -> None:
        self._seccomp = pyseccomp
        self._filter = pyseccomp.SyscallFilter(pyseccomp.ALLOW)

    def deny(self, error: int, *calls: str) -> None:
        """Make these calls fail with the error."""
        for call in calls:
            self.deny_if(error, call)

    def deny_if(self, error: int, call: str, *conditions: Any) -> None:
        """Make the call fail if its arguments fulfil all of these conditions."""
        number = self._seccomp.resolve_syscall(self._seccomp.Arch.NATIVE, call)
        if number >= 0:
            self._filter.add_rule(self._seccomp.ERRNO(error), number, *conditions)

    def has(self, position: int, mask: int, value: int) -> Any:
        """The argument has this value under the mask."""
        return self._seccomp.Arg(position, self._seccomp.MASKED_EQ, mask, value)

    def exceeds(self, position: int, maximum: int) -> Any:
        """The argument is greater."""
        return self._seccomp.Arg(position, self._seccomp.GT, maximum)

    def differs(self, position: int, value: int) -> Any:
        """The argument has another value."""
        return self._seccomp.Arg(position, self._seccomp.NE, value)

    def compile(self) -> bytes:
        """Return the compiled program."""
        with tempfile.TemporaryFile() as file:
            self._filter.export_bpf(file)
            file.seek(0)
            return file.read()


def _add_common(rules: _Rules) -> None:
    rules.deny(errno.EPERM, *_FORBIDDEN)
    rules.deny(errno.ENOSYS, *_UNIMPLEMENTED)
    for flag in _NEW_NAMESPACES:
        rules.deny_if(errno.EPERM, "clone", rules.has(0, flag, flag))
    for request in _TERMINAL_INPUT:
        rules.deny_if(errno.EPERM, "ioctl", rules.has(1, _INT, request))
    for command in _FILE_LEASES:
        rules.deny_if(errno.EPERM, "fcntl", rules.has(1, _INT, command))
    rules.deny_if(errno.EAFNOSUPPORT, "socket", rules.exceeds(0, _NETLINK))
    for family in _OTHER_FAMILIES:
        rules.deny_if(errno.EAFNOSUPPORT, "socket", rules.has(0, _INT, family))
    rules.deny_if(errno.EPROTONOSUPPORT, "socket", rules.exceeds(2, 0), rules.has(0, _INT, _NETLINK))
    rules.deny_if(errno.EPROTONOSUPPORT, "socket", rules.has(2, _INT, _MPTCP))
