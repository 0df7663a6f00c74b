"""Scales time limits with the load of the machine.

Some limits guard against processes that never answer: a fork, a starting kernel, an engine that closes its trace. On a
busy machine a healthy process spends more time waiting for a CPU, and a fixed limit would abandon it needlessly.
"""

import os
from typing import Final

_CPU_COUNT: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MAX_FACTOR: Final = 5.0
"""Upper bound, because in a container the load may be that of a much larger host."""


def scale_limit(seconds: float) -> float:
    """Multiply a limit by the number of runnable processes per core, by at least 1 and at most 5."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not available on Windows
        return seconds
    return round(seconds * min(load / _CPU_COUNT, _MAX_FACTOR), 1) if load > _CPU_COUNT else seconds
