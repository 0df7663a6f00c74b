"""Identifies a process reliably, even after its pid may have been reused."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Self

import psutil

_START_TOLERANCE = 2.0
"""Seconds by which two readings of one process's start time may differ: the system clock may be adjusted between."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process on this machine or another."""

    pid: int
    born: float
    """Start time in seconds since the epoch: the pid may be reused by another process later."""
    machine: str

    @classmethod
    def own(cls) -> Self:
        """Identify the current process."""
        return cls(os.getpid(), psutil.Process().create_time(), platform.node())

    @property
    def here(self) -> bool:
        """Whether the process is on this machine."""
        return self.machine == platform.node()

    @property
    def alive(self) -> bool:
        """Whether the process is still running; meaningful only on its own machine."""
        try:
            found = psutil.Process(self.pid)
            return abs(found.create_time() - self.born) < _START_TOLERANCE and found.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False
