"""Time limits that fit the load of the machine.

Some limits guard against what never answers: a fork, a kernel that starts, an engine that closes its trace. On a busy
machine a healthy process takes longer by as much as it waits for a processor, and would be given up without need.
"""

import os
from typing import Final

_CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MOST: Final = 5.0
"""In a container, the load may be that of a much larger machine."""


def scale(seconds: float) -> float:
    """Returns the limit, longer by as many times as there are runnable processes for each core; five times at most."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none
        return seconds
    return round(seconds * min(load / _CORES, _MOST), 1) if load > _CORES else seconds
