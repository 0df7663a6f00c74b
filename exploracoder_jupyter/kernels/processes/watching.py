"""Watches siblings: which hang because they were forked, and which exceed their limits."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import anyio
import psutil
from anyio import to_thread

from exploracoder_jupyter.kernels.processes.process_tree import child_processes
from exploracoder_jupyter.kernels.sibling_kernel import Sibling

# Distinguishes a process that hangs because it was forked from one that waits for something.
#
# After a fork, code can wait for a thread that exists only in the parent: the main thread then sleeps on a futex
# forever, and nothing else in the process makes progress. Sleeping, polling, reading and waiting for a child are
# other system calls; waiting for a worker is recognized by the worker, which runs, sleeps on something other than a
# futex, or is a child process. The process is sampled from outside through `/proc`, which takes about 50
# microseconds. Where `/proc` hides the arguments of the system call (Yama), a wait with a time limit looks like one
# without, and the detection takes five times as long.

Sleep = Literal["forever", "on a lock", "otherwise"]
"""How a thread sleeps: on a futex with no time limit; on a futex, time limit unknown; or otherwise, or not at all."""
_FUTEX: Final = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}.get(platform.machine())
_WORKING_SHARE: Final = 0.1
_BLIND_FACTOR: Final = 5


class _Sample(NamedTuple):
    """The state of a process in which everything sleeps on a futex."""

    at: float
    cpu: float
    """CPU seconds used by all of its threads."""
    endless: bool
    """Whether the main thread sleeps with no time limit."""
    switches: dict[int, int]
    """Context switches of the main thread and of threads started since: a thread that woke has more than before."""


class StallDetector:
    """Watches one process. Create it when the forked process serves requests, before it runs code that could hang.

    Threads and children that exist by then are its housekeeping: their waits are not signs of progress.
    """

    def __init__(self, pid: int, *, seconds: float = 2.0) -> None:
        self._pid, self._seconds = pid, seconds
        self._threads, self._children = set(_threads(pid)), set(child_processes(pid) or ())
        self._first: _Sample | None = None

    def is_stalled(self) -> bool:
        """Sample once, ideally a few times a second; True when it has hung for `seconds`. False when it is gone."""
        try:
            now = self._sample()
        except (OSError, ValueError, IndexError, TypeError):  # the process ended meanwhile
            now = None
        if now is None or self._first is None or _made_progress(self._first, now):
            self._first = now
        if now is None or self._first is None:
            return False
        return now.at - self._first.at >= self._seconds * (1 if now.endless else _BLIND_FACTOR)

    def _sample(self) -> _Sample | None:
        """Return `None` if a thread waits on something other than a futex, or there is a new child."""
        main = _sleep(self._pid, self._pid)
        threads = [thread for thread in _threads(self._pid) if thread not in self._threads]
        if main == "otherwise" or any(_sleep(self._pid, thread) == "otherwise" for thread in threads):
            return None
        if set(child_processes(self._pid) or ()) - self._children:
            return None
        switches = {thread: _switches(self._pid, thread) for thread in [self._pid, *threads]}
        return _Sample(time.monotonic(), _cpu(self._pid), main == "forever", switches)


def _made_progress(first: _Sample, now: _Sample) -> bool:
    """Whether a thread woke since, or the housekeeping used as much CPU as one: it includes pools of earlier code."""
    return now.switches != first.switches or now.cpu - first.cpu > _WORKING_SHARE * max(now.at - first.at, 0.1)


def _sleep(pid: int, thread: int) -> Sleep:
    folder = Path(f"/proc/{pid}/task/{thread}")
    state = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    if state != "S":
        return "otherwise"
    with contextlib.suppress(PermissionError):
        number, *arguments = (folder / "syscall").read_text(encoding="utf-8").split()
        if number != "running":
            endless = int(number) == _FUTEX and int(arguments[3], 16) == 0
            return "forever" if endless else "otherwise"
    return "on a lock" if "futex" in (folder / "wchan").read_text(encoding="utf-8") else "otherwise"


def _threads(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    return []


def _switches(pid: int, thread: int) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_text(encoding="utf-8")
    return sum(int(count) for count in re.findall(r"ctxt_switches:\s*(\d+)", status))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Ends siblings that exceed their limits on memory, processes or disk: totals of a tree, which no process limit
# covers.
#
# Checks several times a second all siblings that have run something, whether or not they are running now: threads
# and daemons continue after their cell. When the machine itself runs out of memory or disk, the sibling that uses
# most is ended before the system chooses a victim.

_TREE_SECONDS: Final = 0.15
_DISK_SECONDS: Final = 1.0
_MEMORY_SLACK: Final = 1.1
_SPARE_SHARE: Final = 0.03
_SPARE_DISK: Final = 500 << 20
_MAX_FOLDERS: Final = 20_000
_BLOCK: Final = 512
_SHARE_OF_FREE_MEMORY: Final = 0.8
"""Share of the memory free at the start that all siblings together may use."""
_MEGABYTE: Final = 1 << 20


class ResourceWatchdog:
    """Watches siblings until its task is cancelled."""

    def __init__(self, *, memory: int, processes: int, disk: int) -> None:
        """Limits for one sibling: bytes of memory, number of processes, bytes on disk."""
        self._memory, self._processes, self._disk = memory, processes, disk
        machine = psutil.virtual_memory()
        self._total_memory = int(machine.available * _SHARE_OF_FREE_MEMORY)
        self._least_shared: int = getattr(machine, "shared", 0)
        """The least memory of the machine, in bytes, that was shared or in files since the start."""
        self._watched: set[Sibling] = set()

    def watch(self, sibling: Sibling) -> None:
        """Start watching a sibling, until it is dead."""
        self._watched.add(sibling)

    async def run(self) -> None:
        """Watch until cancelled."""
        checks = (
            (self._check_trees, _TREE_SECONDS),
            (self._check_disk, _DISK_SECONDS),
            (self._check_unshared_memory, _DISK_SECONDS),
        )
        async with anyio.create_task_group() as tasks:
            for check, seconds in checks:
                tasks.start_soon(self._repeat, check, seconds)

    async def _repeat(self, check: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            await anyio.sleep(seconds)
            with suppress(OSError):  # without free descriptors nothing can be checked; the next check may succeed
                await check()

    async def _check_trees(self) -> None:
        self._watched = {sibling for sibling in self._watched if sibling.is_alive}
        limit, memory = self._memory * _MEMORY_SLACK, psutil.virtual_memory()
        shared: int = getattr(memory, "shared", 0)
        self._least_shared = min(shared, self._least_shared)
        grown = shared - self._least_shared
        usages = {
            sibling: sibling.process.usage(max_processes=self._processes + 2, shared=grown, recount_above=limit)
            for sibling in self._watched
        }
        for sibling, usage in usages.items():
            if usage.processes > self._processes + 1:
                await sibling.end(f"it started more than {self._processes} processes and its kernel was ended")
            elif usage.memory > limit:
                await sibling.end(self._too_much_memory)
        if usages and memory.available < memory.total * _SPARE_SHARE:
            largest = max(usages, key=lambda sibling: usages[sibling].memory)
            await largest.end("the machine ran out of memory and this kernel, the largest, was ended")

    async def _check_disk(self) -> None:
        """Check disk usage, less often and in a thread, because every file is examined."""
        watched = {sibling: sibling.process.folder for sibling in self._watched if sibling.process.folder}
        usages = {sibling: await to_thread.run_sync(_disk_usage, sibling) for sibling in watched}
        for sibling, usage in usages.items():
            if usage > self._disk:
                await sibling.end(f"it wrote more than {self._disk // _MEGABYTE} MB and its kernel was ended")
        if not usages:
            return
        disk = shutil.disk_usage(next(iter(watched.values())).parent)
        if disk.free < min(disk.total * _SPARE_SHARE, _SPARE_DISK):
            await max(watched, key=usages.__getitem__).end(
                "the disk ran full and this kernel, which had written most, was ended"
            )

    async def _check_unshared_memory(self) -> None:
        """Check memory owned, less often and in a thread: separating it from shared memory examines every page."""
        watched = tuple(self._watched)
        owned = {sibling: await to_thread.run_sync(sibling.process.unshared_memory) for sibling in watched}
        for sibling, bytes_ in owned.items():
            if bytes_ > self._memory * _MEMORY_SLACK:
                await sibling.end(self._too_much_memory)
        if sum(owned.values()) > self._total_memory:
            await max(watched, key=owned.__getitem__).end(
                f"all experiments together used more than {self._total_memory // _MEGABYTE} MB of memory and this "
                "kernel, the largest, was ended"
            )

    @property
    def _too_much_memory(self) -> str:
        return f"it used more than {self._memory // _MEGABYTE} MB of memory and its kernel was ended"


def _disk_usage(sibling: Sibling) -> int:
    """Bytes used by the files of a sibling, those included that it has deleted and still uses. Blocks."""
    folder = sibling.process.folder
    with suppress(OSError):  # it is gone
        return disk_usage(folder) + sibling.process.deleted_bytes(folder.stat().st_dev) if folder else 0
    return 0


def disk_usage(folder: Path) -> int:
    """Bytes used by the files below the folder, as far as a limited number of folders shows. Blocks."""
    total, waiting, seen = 0, [str(folder)], 0
    while waiting and seen < _MAX_FOLDERS:
        seen += 1
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    continue
                with suppress(OSError):  # removed meanwhile
                    found = entry.stat(follow_symlinks=False)
                    used = found.st_blocks * _BLOCK if hasattr(found, "st_blocks") else found.st_size
                    total += used // max(1, found.st_nlink)
    return total
