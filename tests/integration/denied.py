"""Runs a command on a machine that is poorer than this one: primitives really denied, by a system call filter.

`python -m tests.integration.denied --no-namespaces --no-landlock -- COMMAND...` installs the filter in this process and
becomes the command. What is denied stays denied for all that it starts, as in a container with a strict profile: new
namespaces and mounts fail with EPERM, Landlock's calls with ENOSYS, as on a kernel without it. `clone3`, whose flags a
filter cannot see, fails with ENOSYS, and the C library falls back to `clone`.
"""

import argparse
import errno
import os
import sys
from collections.abc import Sequence

try:
    import pyseccomp
except (ImportError, RuntimeError):  # no Linux, or no libseccomp
    pyseccomp = None

_NAMESPACES = [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)]
_MOUNTS = (
    "mount",
    "umount2",
    "pivot_root",
    "setns",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
)
_LANDLOCK = (444, 445, 446)


def supported() -> bool:
    """Whether filters can be made for this system."""
    return pyseccomp is not None


def deny(*, namespaces: bool, landlock: bool) -> None:
    """Deny calls to this process and to all that it starts, for good.

    Raises:
        OSError: the system has no such filters.
    """
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ALLOW)  # calls of 32-bit programs are not for this to stop
    for call in _LANDLOCK if landlock else ():
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), call)
    if namespaces:
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
        for call in _MOUNTS:
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), call)
        for call in ("clone", "unshare"):
            for flag in _NAMESPACES:
                rules.add_rule(pyseccomp.ERRNO(errno.EPERM), call, pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    rules.load()


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
    deny(namespaces=options.no_namespaces, landlock=options.no_landlock)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main(sys.argv[1:])
