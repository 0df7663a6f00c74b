"""A search whose kernel is killed leaves nothing: neither the command, nor what reads the library for it."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from tests.patience import is_over, patience

_KERNEL = """
import sys
from exploracoder_jupyter.ipython_extension.searching.search_process import run_search
command = [sys.executable, "-m", "exploracoder_jupyter.cli", "search", "--json", "--", "endless", "anything"]
run_search(command, on_progress=print)
"""
_LONG = 60
"""Seconds that anything here may take."""


@pytest.fixture
def kernel(tmp_path, request):
    """A process that searches a library whose import has no end; with bubblewrap in reach, or without."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "endless.py").write_text("import time\nwhile True:\n    time.sleep(1)\n")
    (tmp_path / "empty").mkdir()
    path = os.environ["PATH"] if request.param == "bubblewrap" else str(tmp_path / "empty")
    environ = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path), "PATH": path}
    started = subprocess.Popen([sys.executable, "-c", _KERNEL], env=environ, cwd=tmp_path)
    yield psutil.Process(started.pid)
    started.kill()
    started.wait()


@pytest.mark.parametrize("kernel", ["bubblewrap", "limits"], indirect=True)
@pytest.mark.parametrize("killed", ["kernel", "command"])
def test_nothing_is_left_of_a_killed_search(kernel, killed):
    family = _family(kernel, until="introspection.api_walk")
    (family[0] if killed == "kernel" else family[1]).kill()
    if killed == "command":
        family[0].wait(patience(_LONG))
    _, left = psutil.wait_procs(family[1:], timeout=patience(_LONG))
    assert not left


def _family(kernel, until):
    """The process and all below it, as soon as one of them runs the module."""
    began = time.monotonic()
    while not is_over(began, _LONG):
        family = [kernel, *kernel.children(recursive=True)]
        with suppress(psutil.Error):
            if any(until in process.cmdline()[-10:] for process in family):
                return [kernel, *kernel.children(recursive=True)]
        time.sleep(0.1)
    raise AssertionError(f"{until} was not started")
