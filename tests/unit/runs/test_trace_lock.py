"""One run at a time writes a trace."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.runs import order
from tests.unit.runs.recorders import recorder_at


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(order, "PATIENCE", 0.0)


def test_a_second_run_is_refused_before_its_trace(tmp_path):
    """Issue 14, item 11: the lock is taken before anything costs, and the sentence names the process."""
    first = recorder_at("a.ipynb", tmp_path)
    with pytest.raises(UsageError) as refused:
        recorder_at("a.ipynb", tmp_path)
    assert f"process {os.getpid()}, since 20" in refused.value.message
    assert "--out" in refused.value.remedy
    first.close()
    recorder_at("a.ipynb", tmp_path).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "again", ["link/a.ipynb", "other.ipynb", "real/../real/a.ipynb", "{whole}/link/../real/a.ipynb"]
)
def test_the_lock_is_the_same_under_any_name(tmp_path, again):
    """Issue 14, item 11: by a link, a relative path and `..` it is one trace."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "other.ipynb").symlink_to("real/a.ipynb")
    first = recorder_at(tmp_path / "real" / "a.ipynb", Path("/"))
    with pytest.raises(UsageError, match="still active"):
        recorder_at(again.format(whole=tmp_path), tmp_path)
    first.close()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("other"), Path.mkdir])
def test_whatever_holds_the_locks_name_hinders_no_run(tmp_path, make):
    """Issue 31, security 3: in a shared folder, a named pipe in its place hung all runs."""
    make(tmp_path / ".a.lock")
    (tmp_path / "other").touch()
    assert not order.is_active(tmp_path / "a.ipynb")
    recorder_at("a.ipynb", tmp_path).close()


def test_of_simultaneous_runs_one_gets_the_lock(tmp_path):
    """Issue 14, item 11: no two of them get the lock, also while an earlier one lets it go."""
    for number in range(20):
        before, together = recorder_at("a.ipynb", tmp_path), Barrier(9)

        def attempt(last, together=together):
            together.wait()
            if last:
                return last.close()
            try:
                return recorder_at("a.ipynb", tmp_path)
            except UsageError:
                return None

        with ThreadPoolExecutor(9) as pool:
            begun = [one for one in pool.map(attempt, [before, *[None] * 8]) if one]
        assert len(begun) <= 1, number
        for one in begun:
            one.close()
