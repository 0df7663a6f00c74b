"""Runs a command on a machine that is poorer than this one: primitives really denied, by a seccomp filter.

`python -m tests.integration.denied --no-namespaces --no-landlock -- COMMAND...` installs the filter in this process and
becomes the command. What is denied stays denied for all that it starts, as in a container with a strict profile: new
namespaces and mounts fail with EPERM, Landlock's calls with ENOSYS, as on a kernel without it. `clone3`, whose flags a
filter cannot see, fails with ENOSYS, and the C library falls back to `clone`.
"""

import argparse
import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence

_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _AND, _EQUALS, _ANY, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06  # classic BPF, constants as operands
_NUMBER_AT, _FLAGS_AT = 0, 16  # in struct seccomp_data: the call's number, the low half of its first argument
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_CALLS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "mount": 165, "umount2": 166, "unshare": 272, "setns": 308},
    "aarch64": {"clone": 220, "pivot_root": 41, "mount": 40, "umount2": 39, "unshare": 97, "setns": 268},
}
_EVERYWHERE = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_BY_FLAGS = ("clone", "unshare")


def supported() -> bool:
    """Whether filters can be made for this system."""
    return sys.platform == "linux" and platform.machine() in _CALLS


def rules(*, namespaces: bool, landlock: bool) -> dict[str, int]:
    """The error number that each denied call gets."""
    denied: dict[str, int] = {}
    if landlock:
        denied |= {name: errno.ENOSYS for name in _EVERYWHERE if name.startswith("landlock")}
    if namespaces:
        names = {*_CALLS[platform.machine()], *_EVERYWHERE} - {"clone3"}
        denied |= {name: errno.EPERM for name in names if not name.startswith("landlock")}
        denied["clone3"] = errno.ENOSYS
    return denied


def deny(denied: dict[str, int]) -> None:
    """Deny calls to this process and to all that it starts, for good.

    Raises:
        OSError: the system has no such filters.
    """
    code = b"".join(_program(denied))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "the filter was refused")


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _program(denied: dict[str, int]) -> list[bytes]:
    numbers = {**_CALLS[platform.machine()], **_EVERYWHERE}
    lines = [_line(_LOAD, 0, 0, _NUMBER_AT)]
    for name, error in denied.items():
        if name in _BY_FLAGS:
            lines += [_line(_EQUALS, 0, 4, numbers[name]), _line(_LOAD, 0, 0, _FLAGS_AT)]
            lines += [_line(_ANY, 0, 1, _NAMESPACES), _line(_RETURN, 0, 0, _FAIL | error)]
            lines += [_line(_RETURN, 0, 0, _ALLOW)]
        else:
            lines += [_line(_EQUALS, 0, 1, numbers[name]), _line(_RETURN, 0, 0, _FAIL | error)]
    return [*lines, _line(_RETURN, 0, 0, _ALLOW)]


def _line(code: int, if_true: int, if_false: int, operand: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)


def prefix(*, namespaces: bool, landlock: bool) -> list[str]:
    """The words before a command line that deny to it what is named; none when nothing is."""
    flags = ["--no-namespaces"] * namespaces + ["--no-landlock"] * landlock
    return [sys.executable, __file__, *flags, "--"] if flags else []


def main(arguments: Sequence[str]) -> None:
    """Deny, and become the command."""
    parser = argparse.ArgumentParser(description="Run a command with kernel features denied.")
    parser.add_argument("--no-namespaces", action="store_true")
    parser.add_argument("--no-landlock", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    deny(rules(namespaces=options.no_namespaces, landlock=options.no_landlock))
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main(sys.argv[1:])
