"""A run seen from the kernel's side without a kernel: what is started is ended, whatever fails on the way."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from exploracoder_jupyter.frontend.runs import Runs
from exploracoder_jupyter.wire import Start

FAKE = Path(__file__).with_name("fake_engine.py")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_display_that_fails_leaves_no_engine_and_no_resources(tmp_path, monkeypatch, error):
    monkeypatch.chdir(tmp_path)
    runs, resources, closed = Runs(), ExitStack(), []
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
