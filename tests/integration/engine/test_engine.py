"""The real engine as the relay sees it: lines in, lines out, and an end in time whatever happens."""

import contextlib
import io
import json
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest

from exploracoder_jupyter.engine import Engine as InProcess
from exploracoder_jupyter.ipython_extension.running.engine import engine_command
from exploracoder_jupyter.kernel_agent.variable_encoding import dump
from exploracoder_jupyter.protocol.messages import (
    KernelForked,
    LiveOffer,
    Skip,
    Start,
    Stop,
    decode_from_engine,
    encode,
)
from tests.patience import patience

TASK = "Compute the mean of a list of numbers. Compute the median of a list of numbers."


class Engine:
    def __init__(self, folder, temporary):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        with (folder / "stderr").open("w") as stderr:
            self.process = subprocess.Popen(engine_command(), stderr=stderr, start_new_session=True, **pipes)
        self.folder, self.temporary = folder, temporary

    def order(self, *libraries, task=TASK, **settings):
        start = Start(task=task, libraries=list(libraries), layers=[settings], workdir=str(self.folder))
        self.write(encode(start))

    def write(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def until(self, kind):
        """The messages up to the first record of this kind."""
        for line in self.process.stdout:
            message = decode_from_engine(line)
            if message.type == "record" and message.record.event.kind == kind:
                return message.record.event
        raise AssertionError((self.folder / "stderr").read_text())

    def last(self):
        *_, line = self.process.stdout
        return decode_from_engine(line)

    def siblings(self):
        """Processes in the run's folders: a branch is nobody's child."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                places = (process.cwd() or "", *process.cmdline())
                if any(str(folder) in place for place in places for folder in (self.folder, self.temporary)):
                    found.append(process)
        return found

    def traces(self):
        return [nbformat.read(path, as_version=4) for path in self.folder.glob("explorations/*.ipynb")]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def engine(tmp_path, tmp_path_factory, cache, monkeypatch):
    """One engine; what is indexed once is found again by the next."""
    temporary = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(temporary))
    engine = Engine(tmp_path, temporary)
    yield engine
    engine.process.kill()
    with contextlib.suppress(ValueError):  # its input may be closed already
        engine.process.communicate()
    engine.process.stdout.close()


def test_a_run_from_order_to_summary(engine):
    layer = {"exploration": {"candidates": 2}}
    start = Start(task=TASK, libraries=["statistics"], layers=[layer], workdir=str(engine.folder), cell="x", cells=True)
    engine.write(encode(start))
    *messages, last = map(decode_from_engine, engine.process.stdout)
    assert last.type == "finished"
    assert last.summary["status"] in ("unchecked", "unsolved")
    assert engine.process.wait(patience(5)) == 0
    (trace,) = engine.traces()
    nbformat.validate(trace)
    assert last.summary["trace"] in {message.path for message in messages if message.type == "trace_at"}
    shown = {change.id for message in messages if message.type == "cells" for change in message.changes}
    assert any(cell.id in shown for cell in trace.cells)


@pytest.mark.parametrize("line", ['{"type": "stop"}\n', ""])
def test_without_an_order_it_says_so(engine, line):
    engine.write(line)
    engine.process.stdin.close()
    last = engine.last()
    assert last.type == "failed"
    assert last.error == "The first line is not a start message."
    assert engine.process.wait(patience(5)) == 2


def test_what_cannot_be_done_is_reported(engine):
    engine.order("no_such_library_at_all")
    last = engine.last()
    assert last.type == "failed"
    assert "no_such_library_at_all" in last.error
    assert engine.process.wait(patience(5)) == 2
    assert engine.traces() == []


def test_what_is_asked_before_the_beginning_is_answered(engine):
    engine.order("statistics")
    engine.write(encode(Skip(subtask="9")))
    while (notice := engine.until("notice")).level != "warning":
        pass
    assert notice.text in ("There is no plan yet: nothing was changed.", "There is no subtask 9 to skip.")


def test_a_stop_before_the_start_is_obeyed(engine):
    engine.order("statistics")
    engine.write(encode(Stop()))
    last = engine.last()
    assert engine.process.wait(patience(6)) == 0
    assert last.type == "failed"
    assert last.error == "The run was stopped before it began."


@pytest.mark.parametrize("how", ["message", "end of input", "interrupted"])
def test_a_stop_midway_leaves_a_closed_trace(engine, how):
    engine.order("statistics")
    engine.until("candidate_proposed")
    siblings = engine.siblings()
    assert siblings
    if how == "message":
        engine.write(encode(Stop()))
    elif how == "end of input":
        engine.process.stdin.close()
    else:
        engine.process.send_signal(signal.SIGINT)
    last = engine.last()
    assert engine.process.wait(patience(5)) == 0
    assert (last.type, last.summary["status"]) == ("finished", "stopped")
    (trace,) = engine.traces()
    nbformat.validate(trace)
    _, alive = psutil.wait_procs(siblings, timeout=patience(5))
    assert [sibling for sibling in alive if sibling.status() != psutil.STATUS_ZOMBIE] == []
    assert list(engine.temporary.iterdir()) == []


def test_an_engine_that_is_killed_leaves_no_process(engine):
    engine.order("statistics")
    engine.until("candidate_proposed")
    siblings = engine.siblings()
    engine.process.kill()
    _, alive = psutil.wait_procs(siblings, timeout=patience(10))
    assert [sibling for sibling in alive if sibling.status() != psutil.STATUS_ZOMBIE] == []


def test_sent_values_are_removed_when_the_kernel_dies(engine, tmp_path):
    sent = tmp_path / "sent"
    sent.mkdir()
    dump(["numbers"], {"numbers": [1, 2]}, str(sent))
    start = Start(task=TASK, libraries=["statistics"], uses=["numbers"], variables=str(sent), workdir=str(tmp_path))
    engine.write(encode(start))
    engine.until("candidate_proposed")
    assert sent.exists()
    engine.process.stdin.close()
    engine.last()
    engine.process.wait(patience(6))
    assert not sent.exists()


FORKS = """
import sys
from importlib import import_module
import exploracoder_jupyter.runs as session
from exploracoder_jupyter import engine
from exploracoder_jupyter.core.errors import KernelError

async def run(order, listen, *, steering, on_trace_created, cells, solution):
    answers = []
    for _ in range(2):
        try:
            await order.live.fork("/run/x")
            answers.append("forked")
        except KernelError as error:
            answers.append(str(error))
    return {"answers": answers, "hazards": [hazard.what for hazard in order.live.hazards]}

# whoever looks for it in either place
import_module("exploracoder_jupyter.runs.exploration_run").run = session.run = run
sys.exit(engine.main())
"""


def test_the_engine_requests_forks_over_the_pipe(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", FORKS], cwd=tmp_path, **pipes) as process:
        offer = LiveOffer.model_validate({"hazards": [{"kind": "warn", "what": "2 threads"}]})
        process.stdin.write(encode(Start(task="t", libraries=["x"], live=offer)))
        asked = decode_from_engine(process.stdout.readline())
        assert (asked.type, asked.address) == ("fork_kernel", "/run/x")
        process.stdin.write(encode(KernelForked(number=asked.number)))
        assert decode_from_engine(process.stdout.readline()).type == "fork_kernel"
        process.stdin.close()
        last = decode_from_engine(process.stdout.readline())
        assert process.wait(patience(6)) == 0
    assert last.summary == {
        "answers": ["forked", "Your kernel could not be forked: it is gone."],
        "hazards": ["2 threads"],
    }


class Slow(io.StringIO):
    """A pipe whose reader is busy."""

    def write(self, text):
        time.sleep(2.3)
        return super().write(text)


def test_the_last_message_waits_for_a_slow_reader():
    output = Slow()
    assert InProcess(io.StringIO("no order"), output).run() == 2
    assert decode_from_engine(output.getvalue()).error == "The first line is not a start message."


def test_prints_in_the_engine_spare_the_protocol(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, threading, time\n"
        "def noise():\n"
        "    while 'exploracoder_jupyter.runs' not in sys.modules: time.sleep(0.01)\n"
        "    print('noise'); os.write(1, b'noise\\n'); os.system('echo noise')\n"
        "if 'exploracoder_jupyter.engine' in sys.orig_argv: threading.Thread(target=noise, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    engine = Engine(tmp_path, tmp_path)
    engine.order("no_such_library_at_all")
    lines = list(engine.process.stdout)
    engine.process.communicate()
    assert "failed" in {json.loads(line)["type"] for line in lines}
    assert (tmp_path / "stderr").read_text().count("noise") == 3
