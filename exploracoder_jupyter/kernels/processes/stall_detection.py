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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Sleep = Literal["forever", "on a lock", "otherwise"]
"""How a thread sleeps: on a futex with no time limit; on a futex, time limit unknown; or otherwise, or not at all."""
_FUTEX: Final = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}.get(platform.machine())
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_WORKING_SHARE: Final = 0.1
_BLIND_FACTOR: Final = 5


@dataclass(frozen=True, slots=True)
class _Sample:
    """The state of a process at one moment."""

    at: float
    cpu: float
    """CPU seconds used by all of its threads."""
    main: Sleep
    switches: tuple[tuple[int, int], ...]
    """Context switches of the main thread and of threads started since: a thread that woke has more than before."""
    busy: bool
    """Whether a thread started since waits on something other than a futex, or there is a new child."""


class StallDetector:
    """Watches one process. Create it when the forked process serves requests, before it runs code that could hang.

    Threads and children that exist by then are its housekeeping: their waits are not signs of progress.
    """

    def __init__(self, pid: int, *, seconds: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._pid, self._seconds, self._clock = pid, seconds, clock
        self._threads, self._children = set(_threads(pid)), _children(pid)
        self._first: _Sample | None = None

    def is_stalled(self) -> bool:
        """Sample once, ideally a few times a second; True when it has hung for `seconds`. False when it is gone."""
        try:
            now = self._sample()
        except (OSError, ValueError, IndexError, TypeError):  # the process ended meanwhile
            self._first = None
            return False
        if self._first is None or _made_progress(self._first, now):
            self._first = now
        if now.main == "otherwise" or now.busy:
            self._first = None
            return False
        return now.at - self._first.at >= self._seconds * (1 if now.main == "forever" else _BLIND_FACTOR)

    def _sample(self) -> _Sample:
        main = _sleep(self._pid, self._pid)
        if main == "otherwise":
            return _Sample(self._clock(), 0.0, main, (), False)
        new_threads = [thread for thread in _threads(self._pid) if thread not in self._threads]
        busy = any(_sleep(self._pid, thread) == "otherwise" for thread in new_threads)
        switches = tuple((thread, _switches(self._pid, thread)) for thread in [self._pid, *new_threads])
        busy = busy or bool(_children(self._pid) - self._children)
        return _Sample(self._clock(), _cpu(self._pid), main, switches, busy)


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


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            found.update(map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split()))
    return found


def _switches(pid: int, thread: int) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    return sum(int(count) for count in re.findall(r"ctxt_switches:\s*(\d+)", status))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
