"""Errors of our own: a heuristic that raises costs its result, any other error ends a run that keeps what it has."""

import io
import json
import threading
from dataclasses import replace

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.errors import InternalError
from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.core.types import Passage, Task
from exploracoder_jupyter.engine import Engine
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.protocol.messages import Failed, Start, decode_from_engine, encode
from exploracoder_jupyter.runs import Order, resume_order
from exploracoder_jupyter.trace import load, render
from tests.unit.factories import complete_events, recorded, started
from tests.unit.pipeline.test_snippet_learning import FLOOR, ROOT, two_steps
from tests.unit.pipeline.test_task_run import fenced
from tests.unit.runs.recorders import recorder_at
from tests.unit.world import MATH, FewApis, FewPassages, InlineBranch, a_run, happened


def boom(*_, **__):
    raise RuntimeError("boom")


class Failing(FewApis):
    """A knowledge that cannot be asked for some things."""

    def __init__(self, *broken):
        super().__init__(MATH)
        for name in broken:
            setattr(self, name, boom)


class FailingSoup(FewPassages):
    async def search(self, query, k, *, among=None):
        boom()

    async def learn(self, snippets):
        boom()


def failures(run):
    return [event for event in happened(run, "notice") if event.details]


@pytest.mark.failing_heuristics
@pytest.mark.parametrize("broken", ["search", "search_together", "lookup"])
async def test_a_search_that_raises_costs_its_result_only(broken):
    """Issue 14, item 0: a heuristic that raises is recorded with its traceback and ends no run."""

    def propose(request):
        return [fenced("import math\nmath.squareroot(4)"), fenced(ROOT if request.subject == "1" else FLOOR)]

    model = two_steps(propose=propose)
    run = replace(a_run(model, check="assert low == 4", knowledge=Failing(broken)), sources=FewPassages())
    ending = await run_task(run)
    assert ending.verdict.outcome == "solved"
    assert failures(run)
    assert all("RuntimeError: boom" in event.text and "Traceback" in event.details for event in failures(run))
    assert len({event.text for event in failures(run)}) == len(failures(run))


@pytest.mark.failing_heuristics
async def test_sources_that_raise_cost_their_results_only():
    """Issue 14, item 0: the same for what is searched beside the library, and for keeping what was learned."""
    sources = FailingSoup(Passage("documentation", "t", "root", "o"))
    run = replace(a_run(two_steps(), check="assert low == 4"), sources=sources)
    assert (await run_task(run)).verdict.outcome == "solved"
    assert len(failures(run)) == 2


class Broken(InlineBranch):
    """A branch that fails by itself on some code."""

    async def run(self, code, *, timeout):
        if "floor" in code:
            boom()
        return await super().run(code, timeout=timeout)

    async def fork(self, n):
        return [Broken(self.codes, self.log) for _ in range(n)]


async def test_any_other_error_ends_the_run_with_results():
    """Issue 14, item 0: the best solution so far and the traceback are kept."""
    run = replace(a_run(two_steps()), root=Broken())
    with pytest.raises(RuntimeError, match="boom"):
        await run_task(run)
    [finished] = happened(run, "run_finished")
    assert run.emit.__self__[-1] is finished
    assert (finished.verdict.outcome, "boom" in finished.verdict.reason) == ("stopped", True)
    assert ROOT in finished.solution.code
    [failure] = failures(run)
    assert "in fork" in failure.details or "in run" in failure.details


def test_a_raising_display_ends_no_run(tmp_path):
    """Issue 14, item 0: who shows a run cannot end it."""
    recorder = recorder_at(tmp_path / "t.ipynb", tmp_path, boom)
    for event in complete_events():
        recorder(event)
    recorder.close()
    events = [record.event for record in load(tmp_path / "t.ipynb")]
    assert [event.kind for event in events if not _is_failure(event)] == [event.kind for event in complete_events()]
    assert sum(map(_is_failure, events)) == 1


def _is_failure(event):
    return isinstance(event, Notice) and bool(event.details)


def test_a_run_ended_by_internal_error_is_resumed(tmp_path):
    """Issue 14, item 0: the trace is closed and valid, says what happened, and `--resume` continues it."""
    recorder = recorder_at(tmp_path / "t.ipynb", tmp_path)
    for event in [started(settings={}), *complete_events()[1:16]]:
        recorder(event)
    failure = recorder.fail(RuntimeError("boom"))
    recorder.close()
    trace = tmp_path / "t.ipynb"
    assert isinstance(failure, InternalError)
    assert "RuntimeError: boom" in failure.message
    assert all(words in failure.remedy for words in (str(trace), "--resume", "report"))
    assert "Traceback for a bug report" in trace.read_text()
    order = resume_order(Order(Task("", ()), workdir=tmp_path), trace)
    assert [one is not None for one in order.given.carried] == [True, False]
    summary = recorder.summary()
    assert (summary["status"], summary["trace"]) == ("stopped", str(trace))


def test_a_traceback_in_a_trace_is_only_text():
    """Issue 14, item 0: what an error quotes is not rendered."""
    hostile = "Traceback\n  File <x>\n\n    <script>alert(1)</script> $x$\nKeyError: '</pre></details><b>'"
    notebook = render(recorded([*complete_events()[:4], Notice("It failed.", "warning", hostile)]))
    [cell] = [cell for cell in notebook.cells if "bug report" in cell.source]
    assert "<script" not in cell.source and "<b>" not in cell.source and "\n\n    " not in cell.source
    assert cell.source.count("</details>") == 1


def test_an_internal_error_has_its_own_exit_status(monkeypatch, capsys, tmp_path):
    """Issue 14, item 0: status 3, the same fields as at any other end, and the error; the solution is shown."""
    from exploracoder_jupyter import runs

    kept = {"status": "stopped", "reason": "r", "solution": "x = 1", "trace": "t.ipynb", "usage": {"calls": 2}}

    async def run(order, listen, *, steering):
        error = InternalError("An internal error occurred: E.", remedy="Please report it.")
        error.summary = kept
        raise error

    monkeypatch.setattr(runs, "run", run)
    monkeypatch.chdir(tmp_path)
    asked = ["run", "-t", "x", "--library", "statistics"]
    assert main([*asked, "--json"]) == 3
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {**kept, "error": "An internal error occurred: E.", "remedy": "Please report it."}
    assert main(asked) == 3
    shown = capsys.readouterr()
    assert "x = 1" in shown.out and "Trace: t.ipynb" in shown.out
    assert "An internal error occurred: E. Please report it." in shown.err


class Inbox(io.StringIO):
    """One line, and no end: that would ask the engine to be gone."""

    def __iter__(self):
        threading.Event().wait()
        yield ""


def test_the_engine_reports_an_internal_error(monkeypatch, tmp_path):
    """Issue 14, item 0: a notebook's cell and sidebar show what the engine says last."""
    from exploracoder_jupyter import runs

    async def run(*_, **__):
        raise InternalError("An internal error occurred: E.", remedy="Please report it. --resume continues.")

    assert runs.replay and runs.KernelForkClient  # what is imported later would bring the real `run` back
    monkeypatch.setattr(runs, "run", run)
    out = io.StringIO()
    start = Start(task="x", libraries=["statistics"], layers=[], workdir=str(tmp_path))
    assert Engine(Inbox(encode(start)), out).run() == 3
    last = decode_from_engine(out.getvalue().splitlines()[-1])
    assert last == Failed(error="An internal error occurred: E.", remedy="Please report it. --resume continues.")
