"""Upper bounds on waits, longer on a busy machine.

A test states its bounds for an idle machine. `patience` multiplies them by how many times longer work takes now, which
is measured every few seconds, and by the environment variable `EXPLORA_PATIENCE`, for a machine that is slow when idle.
Such a bound only ends a test that hangs; how long the product takes is measured in `benchmarks`.
"""

import os
import time

import anyio

_FACTOR = "EXPLORA_PATIENCE"
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_WORK_SECONDS = 0.02
_FRESH_SECONDS = 10.0
_measured: list[tuple[float, float]] = []
"""When work was last measured, and how many times longer it took; the latest few."""


def patience(seconds: float) -> float:
    """Returns the bound to wait for what takes less than `seconds` on an idle machine."""
    now = time.monotonic()
    if not _measured or now - _measured[-1][0] > _FRESH_SECONDS:
        _measured[:] = [*_measured[-2:], (now, _slowdown())]
    return seconds * max(slowdown for _, slowdown in _measured) * float(os.environ.get(_FACTOR, 1))


def wait_until(condition, seconds, what="the condition"):
    """Returns the first true value of `condition()`; fails after `patience(seconds)`, also if load rises meanwhile."""
    began = time.monotonic()
    while not (value := condition()):
        _check(began, seconds, what)
        time.sleep(0.02)
    return value


async def wait_until_async(condition, seconds, what="the condition"):
    """As `wait_until`, for tests in an event loop."""
    began = time.monotonic()
    while not (value := condition()):
        _check(began, seconds, what)
        await anyio.sleep(0.02)
    return value


def is_over(began, seconds):
    """Whether `patience(seconds)` have passed since `began`, a time of `time.monotonic`."""
    waited = time.monotonic() - began
    return waited > seconds and waited > patience(seconds)


def _check(began, seconds, what):
    assert not is_over(began, seconds), f"waited {time.monotonic() - began:.0f} s for {what}"


def _slowdown():
    """Returns the wall time of a little work over its processor time, or the processes that wait for each core."""
    wall, processor = time.monotonic(), time.thread_time()
    while time.thread_time() - processor < _WORK_SECONDS:
        pass
    measured = (time.monotonic() - wall) / _WORK_SECONDS
    waiting = os.getloadavg()[0] / _CORES if hasattr(os, "getloadavg") else 1.0
    return max(1.0, measured, waiting)
