"""Time limits that scale with the load of the machine."""

import os

import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.runs.steering import KernelForkClient

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def loaded(monkeypatch, times):
    monkeypatch.setattr(os, "getloadavg", lambda: (times * CORES, 0.0, 0.0), raising=False)


@pytest.mark.parametrize(("times", "seconds"), [(0.0, 2.0), (1.0, 2.0), (3.0, 6.0), (100.0, 10.0)])
def test_a_limit_grows_boundedly_with_the_load(times, seconds, monkeypatch):
    """Issue 14, item 13: a healthy process is not given up because the machine is busy."""
    loaded(monkeypatch, times)
    assert scale_limit(2.0) == seconds


def test_without_a_known_load_limits_stay(monkeypatch):
    monkeypatch.delattr(os, "getloadavg", raising=False)
    assert scale_limit(2.0) == 2.0


async def test_a_busy_machine_gives_forks_more_time(monkeypatch):
    """Issue 14, item 13: the message has the number of seconds that were waited for."""
    loaded(monkeypatch, 4.0)
    monkeypatch.setattr("exploracoder_jupyter.runs.steering.PATIENCE", 0.1)
    with pytest.raises(KernelError, match=r"did not answer within 0\.4 s"):
        await KernelForkClient(lambda request: None).fork("/run/x")
