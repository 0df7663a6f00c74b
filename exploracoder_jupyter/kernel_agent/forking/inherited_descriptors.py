"""Isolates a freshly forked process from the descriptors that it shares with its parent.

A fork inherits every descriptor, and with it the open file description: its offset, its flags, the other end of a pipe.
`InheritedDescriptors.survey` records all descriptors right after the fork, while paths still mean what they meant in
the parent. Once the process has its own view of the files, `InheritedDescriptors.replace_all` replaces each descriptor
by the same file reopened at the same offset, a copy in memory, or `/dev/null`. Nothing opened under the parent's mounts
is kept, not even for reading, as it could be reopened for writing through `/proc/self/fd`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from exploracoder_jupyter.kernel_agent.forking import connection_peers
from exploracoder_jupyter.kernel_agent.forking.descriptor_replacements import Descriptor, DescriptorReplacer

_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}.get(os.uname().machine)
_KCMP_FILE = 0
_KCMP_RESULTS = {0: 0, 1: -1, 2: 1}
_libc = ctypes.CDLL(None)


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
            or not connection_peers.endpoints(descriptor.number).isdisjoint(addresses)
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
        result = int(_libc.syscall(_KCMP, me, me, _KCMP_FILE, left, right))
        if result in _KCMP_RESULTS:
            return _KCMP_RESULTS[result]
    return left - right
