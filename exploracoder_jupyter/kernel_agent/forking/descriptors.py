"""Cuts a freshly forked process off from the descriptors that it shares with its parent.

A fork inherits every descriptor, and with it the open file description: its offset, its flags, the other end of a pipe.
`Inherited.survey` notes what there is right after the fork, while paths still mean what they meant in the parent;
`Inherited.restore`, once the process has its own view of the files, puts something of its own at each number: the same
file opened again where it was, a copy in memory, or `/dev/null`. Nothing that was opened under the parent's mounts is
kept, not even for reading: through `/proc/self/fd` it could be opened again for writing.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from exploracoder_jupyter.kernel_agent.forking import connection_peers, descriptor_replacements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}.get(os.uname().machine)
_KCMP_FILE = 0
_ANSWERS = {0: 0, 1: -1, 2: 1}
_libc = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class Inherited:
    """The descriptors of this process that are its parent's as well."""

    found: tuple[descriptor_replacements.Found, ...]

    @classmethod
    def survey(cls, keep: Collection[int]) -> Inherited:
        """Note every descriptor that is not in `keep`, with its offset.

        For a process with one thread, as soon after the fork as can be: until then the parent may move an offset. It
        changes nothing and needs a `/proc` that shows this process.
        """
        kept = frozenset(keep)
        numbers = sorted(number for number in map(int, os.listdir("/proc/self/fd")) if number not in kept)
        found = [one for number in numbers if (one := _look(number)) is not None]
        return cls(tuple(_with_twins(found)))

    def at(self, addresses: Collection[int | str]) -> set[int]:
        """Which of them are sockets with one of these ports or paths at an end, as a kernel's own are: for `quiet`."""
        sockets = [one.number for one in self.found if stat.S_ISSOCK(one.status.st_mode)]
        return {number for number in sockets if not connection_peers.ends(number).isdisjoint(addresses)}

    def below(self, *paths: str) -> set[int]:
        """Which of them are files whose path begins so, as a kernel's history is: for `quiet`."""
        return {one.number for one in self.found if one.path.startswith(paths)}

    def pipes(self) -> set[int]:
        """Which of them are pipes: as a rule those to a kernel's own helpers, and for `quiet`."""
        return {one.number for one in self.found if stat.S_ISFIFO(one.status.st_mode)}

    def restore(
        self,
        carried: Sequence[str] | Mapping[str, str],
        *,
        hidden: Collection[str] = (),
        shown: Collection[str] = (),
        quiet: Collection[int] = (),
    ) -> list[str]:
        """Replace everything noted, and tell people what is no longer what it was, one clause a thing.

        `carried` are the real paths of folders of which this process has its own copy, at the same path or, as a
        mapping, at another. What is at or below one of `hidden` is not given back, unless the innermost of these
        folders and of `shown` around it is shown. `quiet` are descriptors nobody is
        told of. A number that means something else by now is left alone. Raises OSError when `/dev/null` cannot be
        opened: then this process must not go on.
        """
        places = carried if isinstance(carried, Mapping) else {folder: folder for folder in carried}
        same = [one for one in self.found if _unchanged(one)]
        clauses = []
        workshop = descriptor_replacements.Workshop(same, places=places, hidden=hidden, shown=shown)
        try:
            for one in same:
                clause = workshop.replace(one)
                if clause and one.number not in quiet:
                    clauses.append(clause)
        finally:
            workshop.close()
        return list(dict.fromkeys(clauses))


def _look(number: int) -> descriptor_replacements.Found | None:
    """What is known of a descriptor; None when there is none, as for the one that listed them."""
    try:
        status, flags = os.fstat(number), fcntl.fcntl(number, fcntl.F_GETFL)
        path = os.readlink(f"/proc/self/fd/{number}")
        inheritable = os.get_inheritable(number)
    except OSError as problem:
        if problem.errno in (errno.EBADF, errno.ENOENT):
            return None
        raise
    offset = 0
    if stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR):
        offset = _offset(number)
    return descriptor_replacements.Found(number, status, flags, path, offset, inheritable)


def _offset(number: int) -> int:
    try:
        return os.lseek(number, 0, os.SEEK_CUR)
    except OSError:
        return 0  # opened with O_PATH, or a file of the kernel's that has no offset


def _unchanged(one: descriptor_replacements.Found) -> bool:
    try:
        return os.path.samestat(os.fstat(one.number), one.status)
    except OSError:
        return False


def _with_twins(found: list[descriptor_replacements.Found]) -> list[descriptor_replacements.Found]:
    """Note of duplicates, as `dup` makes them, whose they are: they share an offset, and shall share the new one.

    Only what agrees in file, flags and offset can be one. The system calls of one description are ordered, so sorting
    puts duplicates side by side, however many descriptors there are.
    """
    alike: dict[object, list[descriptor_replacements.Found]] = {}
    for one in found:
        if one.is_file or one.is_folder:
            alike.setdefault((one.file, one.flags, one.offset), []).append(one)
    first: dict[int, int] = {}
    for group in alike.values():
        if len(group) > 1:
            numbers = sorted((one.number for one in group), key=functools.cmp_to_key(_order))
            for left, right in pairwise(numbers):
                if _order(left, right) == 0:
                    first[right] = first.get(left, left)
    return [replace(one, twin=first.get(one.number)) for one in found]


def _order(left: int, right: int) -> int:
    """0 for the same description, else their order; by number, so never the same, where the system does not say."""
    if _KCMP is not None:
        me = os.getpid()
        answer = int(_libc.syscall(_KCMP, me, me, _KCMP_FILE, left, right))
        if answer in _ANSWERS:
            return _ANSWERS[answer]
    return left - right
