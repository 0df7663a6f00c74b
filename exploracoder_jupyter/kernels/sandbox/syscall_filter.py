"""Compiles the system call filter (seccomp) under which experiments run.

Namespaces, mounts and Landlock do not cover every call that reaches beyond them: keyrings, sockets, limits and
priorities of other processes, memory that no process owns, and common escapes from containers. libseccomp generates the
program once per run; the confined process installs it (`kernel_agent.confinement.syscalls.install_filter`). Calls that
are not listed are allowed.

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

NO_FILTER_NOTE: Final = "no system call filter because libseccomp is not installed or not supported here"
"""Shown to the user for processes without a filter."""

Confinement = Literal["bubblewrap", "namespaces", "landlock", "limits"]

_PR_GET_SECCOMP: Final = 21
_INT: Final = 0xFFFFFFFF
"""The part of an `int` argument that the kernel reads: the other half of the register may contain anything."""
_NEW_NAMESPACES: Final = tuple(1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30))
_CHILD_OF_PARENT: Final = 0x8000
"""`CLONE_PARENT`: such a process does not belong to the tree of the one that starts it, and would outlive it."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_TCP_LEVEL: Final = 6
_CONNECTING_OPTIONS: Final = (30, 31)
"""`TCP_FASTOPEN_CONNECT`, and `TCP_ULP`, which can replace TCP by a protocol that Landlock does not know."""
_FAST_OPEN: Final = 1 << 29
_SENDING: Final = (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))
"""Calls that can open a connection with their first data (`MSG_FASTOPEN`), with the argument for flags."""
_OTHER_FAMILIES: Final = (*range(3, _INET6), *range(_INET6 + 1, _NETLINK))
_MPTCP: Final = 262

# fmt: off
_FORBIDDEN: Final = (
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv",
    "process_vm_writev", "process_madvise", "pidfd_getfd", "open_by_handle_at", "fanotify_init", "setns", "chroot",
    "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "quotactl", "quotactl_fd", "acct", "swapon", "swapoff", "reboot", "syslog",
    "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "vhangup", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "process_mrelease",
)
_UNIMPLEMENTED: Final = (
    "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create", "memfd_secret",
)
"""Fail as on a kernel without the call, so that programs use alternatives. Flags of `clone3` are in memory; files
without a name (`memfd_create`) are memory that belongs to no process, and can be hidden from all who count it."""
_MOUNTS: Final = ("mount", "umount2", "open_tree", "move_mount", "mount_setattr")
_SYSTEM_V: Final = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink",
)
_SMALL_SEGMENT: Final = 16_384
_SYSTEM_V_MEMORY: Final = ("semget", "msgget")
"""Memory of such objects belongs to no process. Segments are allowed while all 4096 of them are small."""
_PROCESS_ARGUMENTS: Final[tuple[tuple[str, int] | tuple[str, int, int], ...]] = (
    ("prlimit64", 0, 2), ("setpriority", 1), ("ioprio_set", 1), ("migrate_pages", 0), ("move_pages", 0),
    ("sched_setaffinity", 0), ("sched_setparam", 0), ("sched_setattr", 0),
)
"""Calls that change a process, with the argument that identifies it, and another where 0 only reads. A process can
only name itself, as 0: a filter cannot know the ids of the processes that will inherit it."""
_ONE_PROCESS: Final = (("setpriority", 0, 0), ("ioprio_set", 0, 1))
"""Calls that can also change all processes of a group or a user, with the argument and its value for one process."""
_SCHEDULING: Final = "sched_setscheduler"
"""The C library calls it with the id of a thread. ZeroMQ gives each of its threads the policy that it has already, and
aborts if that fails: with another id than 0, the call has no effect."""
_CORE_SCHEDULING: Final = 62
_METADATA_CALLS: Final = (
    "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat",
)
"""File changes that Landlock does not cover; `chmod` and `utimensat` are needed to copy one's own files."""
_WATCHING: Final = ("inotify_init", "inotify_init1", "inotify_add_watch")
"""Landlock lets a process watch a folder that it cannot list. Programs fall back to looking again and again."""
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
    from exploracoder_jupyter.kernel_agent.confinement.linux_calls import PERMIT_WORDS  # Linux only

    permit = secrets.token_bytes(8 * PERMIT_WORDS)
    rules = _Rules(pyseccomp)
    _add_common(rules)
    if confinement == "namespaces":
        for position, word in enumerate(struct.unpack(f"={PERMIT_WORDS}Q", permit), start=1):
            rules.deny_if(errno.EPERM, "unshare", rules.differs(position, word))
    else:
        rules.deny(errno.EPERM, "unshare", *_MOUNTS)
    if confinement in ("landlock", "limits"):
        _add_neighbours(rules)
    else:
        rules.deny(errno.EPERM, *_SYSTEM_V_MEMORY)
        rules.deny_if(errno.EPERM, "shmget", rules.exceeds(1, _SMALL_SEGMENT))
    if confinement == "landlock":
        rules.deny(errno.EPERM, *_METADATA_CALLS)
        rules.deny(errno.ENOSYS, *_WATCHING)
        if not network:
            _add_network(rules)
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
        # Calls of 32-bit programs have other numbers, which no rule here covers.
        self._filter.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ERRNO(errno.ENOSYS))

    def deny(self, error: int, *calls: str) -> None:
        """Make these calls fail with the error."""
        for call in calls:
            self.deny_if(error, call)

    def deny_if(self, error: int, call: str, *conditions: Any) -> None:
        """Make the call fail, or do nothing if the error is 0, if its arguments fulfil all of these conditions."""
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


def _add_neighbours(rules: _Rules) -> None:
    """Deny what changes other processes, for those that can see them."""
    rules.deny(errno.EPERM, *_SYSTEM_V)
    rules.deny_if(0, _SCHEDULING, rules.differs(0, 0))
    for call, *positions in _PROCESS_ARGUMENTS:
        rules.deny_if(errno.EPERM, call, *(rules.differs(position, 0) for position in positions))
    for call, position, value in _ONE_PROCESS:
        rules.deny_if(errno.EPERM, call, rules.differs(position, value))
    rules.deny_if(errno.EPERM, "prctl", rules.has(0, _INT, _CORE_SCHEDULING), rules.differs(2, 0))


def _add_network(rules: _Rules) -> None:
    """Deny what Landlock does not: it only refuses to connect and bind TCP sockets, and that since Linux 6.7.

    Sockets that the process has already, or is sent, cannot open connections by their first data either.
    """
    for family in (_INET, _INET6):
        rules.deny_if(errno.EACCES, "socket", rules.has(0, _INT, family))
    for call, flags in _SENDING:
        rules.deny_if(errno.EACCES, call, rules.has(flags, _FAST_OPEN, _FAST_OPEN))
    for option in _CONNECTING_OPTIONS:
        rules.deny_if(errno.EACCES, "setsockopt", rules.has(1, _INT, _TCP_LEVEL), rules.has(2, _INT, option))


def _add_common(rules: _Rules) -> None:
    rules.deny(errno.EPERM, *_FORBIDDEN)
    rules.deny(errno.ENOSYS, *_UNIMPLEMENTED)
    for flag in (*_NEW_NAMESPACES, _CHILD_OF_PARENT):
        rules.deny_if(errno.EPERM, "clone", rules.has(0, flag, flag))
    rules.deny_if(errno.EAFNOSUPPORT, "socketpair", rules.differs(0, _UNIX))
    for request in _TERMINAL_INPUT:
        rules.deny_if(errno.EPERM, "ioctl", rules.has(1, _INT, request))
    for command in _FILE_LEASES:
        rules.deny_if(errno.EPERM, "fcntl", rules.has(1, _INT, command))
    rules.deny_if(errno.EAFNOSUPPORT, "socket", rules.exceeds(0, _NETLINK))
    for family in _OTHER_FAMILIES:
        rules.deny_if(errno.EAFNOSUPPORT, "socket", rules.has(0, _INT, family))
    rules.deny_if(errno.EPROTONOSUPPORT, "socket", rules.exceeds(2, 0), rules.has(0, _INT, _NETLINK))
    rules.deny_if(errno.EPROTONOSUPPORT, "socket", rules.has(2, _INT, _MPTCP))
