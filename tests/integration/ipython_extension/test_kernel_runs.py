"""A run seen from the kernel's side without a kernel: what is started is ended, whatever fails on the way."""

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls
from exploracoder_jupyter.protocol.browser_messages import VERSION
from exploracoder_jupyter.protocol.messages import Start
from tests.patience import patience

FAKE = Path(__file__).with_name("fake_engine.py")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failing_display_leaves_no_engine(tmp_path, monkeypatch, error):
    monkeypatch.chdir(tmp_path)
    runs, resources, closed = Controls(None, folder=lambda: None).runs, ExitStack(), []
    resources.callback(closed.append, True)

    def display(_):
        while not Path("order.json").exists() or not Path("order.json").read_text().endswith("}"):
            pass
        raise error

    with pytest.raises(error):
        order = Start(task="t", libraries=["slow"])
        runs.start(order, command=(sys.executable, str(FAKE)), display=display, resources=resources)
    assert not psutil.pid_exists(json.loads(Path("order.json").read_text())["pid"])
    assert closed == [True]
    assert runs.all == []


def test_a_hello_during_the_start_owns_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    desk = Controls(None, folder=lambda: None)

    def display(_):
        desk.handle({"type": "hello", "version": VERSION, "page": "tab", "session": "s"}, lambda _: None)
        return Silent()

    order, command = Start(task="t", libraries=["quick"], cell="c"), (sys.executable, str(FAKE))
    run = desk.runs.start(order, command=command, display=display, resources=ExitStack(), session="s")
    assert run.live.owner == "tab"
    run.wait()


class Silent:
    """A display that shows nothing."""

    def show(self, state):
        pass

    def close(self, state):
        pass


def test_a_missing_fork_request_is_waited_for_briefly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs, resources, closed = Controls(None, folder=lambda: None).runs, ExitStack(), []
    resources.callback(closed.append, True)
    order = Start(task="t", libraries=["hesitates"])
    run = runs.start(
        order, command=(sys.executable, str(FAKE)), display=lambda _: Silent(), resources=resources, fork=None
    )
    before = time.monotonic()
    run.detach(patience=0.5)
    assert 0.5 <= time.monotonic() - before < patience(2)
    assert (run.over, closed) == (False, [])
    run.stop()
    run.join(patience(10))
    assert run.state.failure == "Stopped. The run was stopped before it began."
    assert closed == [True]
