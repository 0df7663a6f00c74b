"""A run seen from the kernel, with an engine that only says what it is given."""

import threading
from contextlib import ExitStack

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record, RunFinished, RunStarted
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Environment, Task, Usage, Verdict
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun, RunContext
from exploracoder_jupyter.ipython_extension.running.engine import FailedEngine
from exploracoder_jupyter.ipython_extension.running.runs import Run, Runs
from exploracoder_jupyter.protocol.messages import Failed, RecordMessage, Start


class Pages:
    """Pages that keep what they are sent."""

    has_listeners = True

    def __init__(self):
        self.states = []

    def broadcast(self, message):
        self.states.append((message.state.status, message.state.activity))

    def assign_owner(self, run):
        pass


class Screen:
    """A display that keeps the last state."""

    def __init__(self, _=None):
        self.state = None

    def show(self, state):
        self.state = state

    close = show


class Engine(FailedEngine):
    """Says these messages, and ends."""

    def __init__(self, *messages):
        self._messages = [*reversed(messages)]
        self.fork_settled = threading.Event()


def test_an_impossible_run_fails_in_cell_and_pages(tmp_path):
    """Issue 14, item 24: no engine is started, and cell and sidebar have the same words."""
    pages, screens = Pages(), []

    def display(run):
        screens.append(Screen())
        return screens[0]

    order = Start(task="t", libraries=["netwrkx"], cell="c")
    error = UsageError("There is no netwrkx.", remedy="Did you mean networkx?")
    none = (str(tmp_path / "no engine"),)
    run = Runs(pages).start(order, command=none, display=display, resources=ExitStack(), refused=error)
    run.detach(patience=60)
    run.join(10)
    assert run.refused and screens[0].state.broken
    assert pages.states[-1] == ("failed", "There is no netwrkx. Did you mean networkx?")
    assert screens[0].state.failure == pages.states[-1][1]


def test_a_failing_run_ends_once_on_pages():
    """Issue 14, item 24: the cell showed "Stopped", the sidebar "Failed": the end was sent before why there was one."""
    pages = Pages()
    live = LiveRun(pages, RunContext("k", "c", None), RunState(), session="s")
    started = RunStarted("0123abcd", Task("t", ("nx",)), {}, "m", Environment("", "", "", "", ""), "0")
    stopped = RunFinished(Verdict("stopped", "It is not installed."), None, Usage())
    records = [RecordMessage(record=Record(n, n, event)) for n, event in enumerate((started, stopped), 1)]
    engine = Engine(*records, Failed(error="It is not installed.", remedy=""))
    Run(engine, live, RunState(), ExitStack(), Screen).wait()
    ends = [status for status, _ in pages.states if status in ("stopped", "failed")]
    assert ends == ["failed"]
