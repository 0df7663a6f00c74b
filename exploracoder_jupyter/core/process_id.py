"""A process as others can know it again, when it may be long gone."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Self

import psutil

_SAME_MOMENT = 2.0
"""Seconds by which the start of one process may be told differently: a system's clock is set meanwhile."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of some machine."""

    pid: int
    born: float
    """When it began, in seconds since the epoch: a number may be given to another process later."""
    machine: str

    @classmethod
    def own(cls) -> Self:
        """This process."""
        return cls(os.getpid(), psutil.Process().create_time(), platform.node())

    @property
    def here(self) -> bool:
        """Whether it belongs to this machine."""
        return self.machine == platform.node()

    @property
    def alive(self) -> bool:
        """Whether it still runs, if it belongs to this machine."""
        try:
            found = psutil.Process(self.pid)
            return abs(found.create_time() - self.born) < _SAME_MOMENT and found.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False
