"""Distinguishes a process that hangs because it was forked from one that waits for something.

After a fork, code can wait for a thread that exists only in the parent: the main thread then sleeps on a futex forever,
and nothing else in the process makes progress. Sleeping, polling, reading and waiting for a child are other system
calls; waiting for a worker is recognized by the worker, which runs, sleeps on something other than a futex, or is a
child process. The process is sampled from outside through `/proc`, which takes about 50 microseconds. Where `/proc`
hides the arguments of the system call (Yama), a wait with a time limit looks like one without, and the detection takes
five times as long.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
from pathlib import Path
from typing import Final, Literal, NamedTuple

from exploracoder_jupyter.kernels.processes.process_tree import child_processes

Sleep = Literal["forever", "on a lock", "otherwise"]
"""How a thread sleeps: on a futex with no time limit; on a futex, time limit unknown; or otherwise, or not at all."""
_FUTEX: Final = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}.get(platform.machine())
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
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
    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
    if state != "S":
        return "otherwise"
    with contextlib.suppress(PermissionError):
        number, *arguments = (folder / "syscall").read_text().split()
        if number != "running":
            endless = int(number) == _FUTEX and int(arguments[3], 16) == 0
            return "forever" if endless else "otherwise"
    return "on a lock" if "futex" in (folder / "wchan").read_text() else "otherwise"


def _threads(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    return []


def _switches(pid: int, thread: int) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    return sum(int(count) for count in re.findall(r"ctxt_switches:\s*(\d+)", status))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
