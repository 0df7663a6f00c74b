"""Errors that a run survives still fail its test; a test leaves no process; what is the same for all is done once."""

import functools
import importlib.metadata
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sources import ALL_KEY_VARIABLES, SETTING_VARIABLES
from exploracoder_jupyter.kernel_agent import entry_points
from exploracoder_jupyter.kernel_agent.summaries import summarizer


def _once_for_each_state(read):
    """Reading what every installed distribution says of itself takes long, and changes with the folders alone."""

    @functools.cache
    def known(_):
        return read()

    def read_again():
        return known(tuple((name, _modified(name)) for name in sys.path))

    return read_again


def _modified(folder):
    with suppress(OSError):
        return Path(folder).stat().st_mtime_ns


os.fsync = lambda file: None  # no test can see whether what was written would survive the loss of power
importlib.metadata.packages_distributions = _once_for_each_state(importlib.metadata.packages_distributions)


@pytest.fixture(autouse=True, scope="module")
def _no_process_is_left():
    """A child that a test has not waited for fails the last test of its file."""
    yield
    with suppress(ChildProcessError):
        pid, _ = os.waitpid(-1, os.WNOHANG)
        pytest.fail(f"a test of this file left the process {pid or 'that is still running'}")


@pytest.fixture(autouse=True)
def _no_failing_heuristic(request, caplog):
    """Fails a test in whose run a heuristic raised (the run continues without it), unless the test expects that."""
    yield
    if not request.node.get_closest_marker("failing_heuristics"):
        failed = [one for one in caplog.get_records("call") if one.name == "exploracoder_jupyter.pipeline.context"]
        assert not failed, [one.getMessage() for one in failed]


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A config file that does not exist yet, and no settings in variables."""
    for name in (*ALL_KEY_VARIABLES, *SETTING_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "deep" / "config.toml"
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(path))
    return path


@pytest.fixture
def register_plugin(tmp_path, monkeypatch):
    """Install a distribution with one module and these entry points, by group, on the import path."""
    site, modules = tmp_path / "site", []

    def clear():
        entry_points.clear()
        summarizer.find_plugins.cache_clear()

    def register(groups, code="", *, name="explora-tides", module="explora_tides", metadata=""):
        info = site / f"{name.replace('-', '_')}-0.1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n{metadata}")
        lines = [f"[exploracoder_jupyter.{group}]\n{entries}\n" for group, entries in groups.items()]
        (info / "entry_points.txt").write_text("".join(lines))
        (site / f"{module}.py").write_text(code)
        modules.append(module)
        clear()

    monkeypatch.syspath_prepend(site)
    clear()
    yield register
    monkeypatch.undo()
    for module in modules:
        sys.modules.pop(module, None)
    clear()
