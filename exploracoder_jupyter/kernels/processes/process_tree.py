"""Process trees: finds their members, measures what they use, ends them.

A tree is found by walking down from its root; bubblewrap's process namespace or, elsewhere, adoption of orphans by the
kernel keeps daemons within it. `ProcessTree` remembers the processes it has seen, so that those left by a dead root are
ended too.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import anyio
import psutil

_END_SECONDS: Final = 3.0
_FOLLOW_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.02
_READ_BYTES: Final = 512
_DELETED: Final = b" (deleted)"
_SHARED_MAPPING: Final = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) ..[-x]s ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) ")
"""A line of `/proc/PID/maps`: start, end, offset, device, inode."""


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """What a process tree uses at one moment."""

    processes: int
    memory: int
    """Bytes of memory that its processes do not share with others, and of memory that they share without a file."""


class ProcessTree:
    """The processes of one tree, as last seen."""

    def __init__(self, root: int, *, adopter: int | None = None, others: Callable[[], Iterable[int]] = tuple) -> None:
        """`adopter` is a process that adopts orphans; it does not belong to the tree itself. `others` returns processes
        within the tree that are excluded from it, together with those below them."""
        self._root, self._adopter = _find_process(root), adopter
        self._seen: dict[int, psutil.Process] = {}
        self._others = others

    def measure(self, *, max_processes: int, shared: int = 0, recount_above: float = math.inf) -> TreeUsage:
        """Measure the tree; stop after finding more than `max_processes` processes.

        `shared`: bytes of memory of the machine that may be shared memory of this tree. Where that could make a
        difference, beyond `recount_above` bytes, memory is measured again with slower methods: one finds shared memory,
        the other counts pages shared by forks once.
        """
        found = self._members(max_processes)
        memory, nameless = sum(map(private_memory, found)), 0
        if shared and memory + shared > recount_above:
            nameless = min(shared, nameless_bytes(found, _memory_device()))
        if memory + nameless > recount_above:
            memory = sum(_memory_total(pid, "Pss_Anon") or private_memory(pid) for pid in found)
        memory += nameless
        for pid in found:
            if pid not in self._seen and (process := _find_process(pid)):
                self._seen[pid] = process
        for pid in self._seen.keys() - set(found):
            if not self._seen[pid].is_running():
                del self._seen[pid]
        return TreeUsage(len(found), memory)

    def unshared_memory(self) -> int:
        """Bytes of memory that no other process maps, for the processes found by the last measurement."""
        return sum(_memory_total(pid, "Private_Dirty") for pid in tuple(self._seen))

    def deleted_bytes(self, device: int) -> int:
        """Bytes of files on this device that have no name any more, for the processes found by the last measurement."""
        return nameless_bytes(tuple(self._seen), device)

    def _members(self, max_processes: int) -> list[int]:
        others = set(self._others())
        found = _descendants(self._root.pid, max_processes=max_processes, excluding=others) if self._root else []
        if self._adopter is not None:
            adopted = _descendants(self._adopter, max_processes=max_processes, excluding={*others, *found})
            found += (pid for pid in adopted if pid != self._adopter)
        for pid in others:
            self._seen.pop(pid, None)
        return found

    async def end(self, *, root_follows: bool) -> None:
        """Kill every process of the tree and wait until they are gone.

        `root_follows`: the root is a supervisor that reaps, and ends by itself once the processes below it are gone.
        """
        for _ in range(5):  # a process started between the measurement and the kill is caught in the next round
            self.measure(max_processes=100_000)
            below = [process for process in self._seen.values() if process != self._root and _is_living(process)]
            if not below:
                break
            _each(below, psutil.Process.suspend)
            _each(below, psutil.Process.kill)
            await _wait_until_gone(below, seconds=_END_SECONDS)
        if self._root:
            await _wait_until_gone([self._root], seconds=_FOLLOW_SECONDS if root_follows else 0)
            _each([self._root], psutil.Process.kill)
            await _wait_until_gone([self._root], seconds=_END_SECONDS)
        self._seen.clear()


def _descendants(root: int, *, max_processes: int, excluding: Collection[int]) -> list[int]:
    """Return the root and its descendants, deepest last, without those in `excluding`; empty when the root is gone."""
    found: list[int] = []
    waiting = [root]
    while waiting and len(found) <= max_processes:
        pid = waiting.pop()
        children = child_processes(pid)
        if children is not None:
            found.append(pid)
            waiting += (child for child in children if child not in excluding)
    return found


def child_processes(pid: int) -> list[int] | None:
    """Return the child processes; `None` when the process is gone. Prefers /proc: psutil scans all processes."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text(encoding="utf-8").split()]
    except OSError:
        pass
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return None


def _memory_total(pid: int, field: str) -> int:
    """Return a sum over all mappings of a process, in bytes; 0 where the system does not provide it."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(rf"^{field}:\s*(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def nameless_bytes(pids: Iterable[int], device: int) -> int:
    """Bytes of files without a name on this device that processes have open or share a mapping of, each once.

    On the device of memory these are files in memory and memory that processes share. A mapping counts from the start
    of its file to its own end, whether or not it has been written.
    """
    found: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it is gone
            for inode, size in (*_nameless_files(pid, device), *_nameless_mappings(pid, device)):
                found[inode] = max(size, found.get(inode, 0))
    return sum(found.values())


def _nameless_files(pid: int, device: int) -> Iterator[tuple[int, int]]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            status = descriptor.stat()
            if status.st_nlink == 0 and status.st_dev == device and stat.S_ISREG(status.st_mode):
                yield status.st_ino, status.st_blocks * _READ_BYTES


def _nameless_mappings(pid: int, device: int) -> Iterator[tuple[int, int]]:
    lines = Path(f"/proc/{pid}/maps").read_bytes().split(b"\n")
    for found in (_SHARED_MAPPING.match(line) for line in lines if line.endswith(_DELETED)):
        if found is not None:
            start, end, offset, major, minor = (int(number, 16) for number in found.groups()[:5])
            if os.makedev(major, minor) == device:
                yield int(found[6]), offset + end - start


@cache
def _memory_device() -> int:
    """The device of memory that processes share without a file."""
    file = os.memfd_create("device", os.MFD_CLOEXEC)
    try:
        return os.fstat(file).st_dev
    finally:
        os.close(file)


def private_memory(pid: int) -> int:
    """Memory of a process that is not backed by files; pages shared with forks count in full."""
    try:
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _find_process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _is_living(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _each(processes: Iterable[psutil.Process], act: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            act(process)


async def _wait_until_gone(processes: Iterable[psutil.Process], *, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        while any(_is_living(process) for process in processes):
            await anyio.sleep(_POLL_SECONDS)
