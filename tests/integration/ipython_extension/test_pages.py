"""Kernel and page: hello, live cells, controls while the kernel is busy, reload, two tabs; the page is simulated."""

import contextlib
import json
import sys

import nbformat
import psutil
import pytest

from exploracoder_jupyter.trace import render
from tests.integration.ipython_extension.pages import Page
from tests.integration.ipython_extension.test_magics import ended, kernel_in
from tests.unit.factories import complete_run

BUSY = "from pathlib import Path\nimport time\nPath('busy').touch()\nwhile Path('busy').exists(): time.sleep(0.01)"


TWO_STEPS = "Compute the mean of a list of numbers. Compute the median of a list of numbers."
HOOK = """
import threading
seen = []
get_ipython().events.register("post_execute", lambda: seen.append(threading.current_thread().name))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with kernel_in(tmp_path_factory.mktemp("notebook")) as kernel:
        yield kernel


@pytest.fixture
def kernel(shared):
    for name in ("order.json", "busy"):
        (shared.folder / name).unlink(missing_ok=True)
    shared.load()
    yield shared
    (shared.folder / "busy").unlink(missing_ok=True)
    shared.run("%explora stop")


@pytest.fixture
def tab(kernel):
    """Opens tabs on the kernel's notebook."""
    opened = []

    def tab(name="tab-1"):
        opened.append(Page(kernel.manager, name).listen())
        return opened[-1]

    yield tab
    for page in opened:
        page.close()


@contextlib.contextmanager
def busy(kernel, page):
    """A cell that keeps the kernel's main thread."""
    sent = page.execute(BUSY, cell="busy-cell")
    page.until((kernel.folder / "busy").exists, "the busy cell")
    yield
    assert (kernel.folder / "busy").exists(), "the cell was over too early"
    (kernel.folder / "busy").unlink()
    assert page.reply(sent)["status"] == "ok"


def begun(page, run=None):
    """Wait until the steered run waits to be steered."""
    return page.state(lambda state: state["status"] == "running" and chosen(state), "the run", run)


def chosen(state):
    return bool(state["subtasks"]) and state["subtasks"][0]["selected"] == "1.1"


def explore(page, line="steered", **ours):
    """Explore in the background and wait until it is under way."""
    assert page.run(f"%%explora {line}\ntask", **ours)["status"] == "ok"
    return begun(page)


def test_a_page_gets_card_live_cells_and_state(kernel, tab):
    page = tab()
    welcome = page.connect()
    assert (welcome["type"], welcome["runs"]) == ("welcome", [])
    assert page.openings[-1]["reason"] == "hello"
    state = explore(page)
    assert [opening["session"] for opening in page.openings if opening["reason"] == "call"] == [page.session]
    assert (state["owner"], state["cell"], state["run_id"]) == ("tab-1", "a-cell", "0123abcd")
    first = state["subtasks"][0]
    assert (first["status"], first["selected"], first["why"]) == ("exploring", "1.1", ["it ran"])
    assert [(c["status"], c["line"], c["selectable"]) for c in first["candidates"]] == [
        ("ok", "1", True),
        ("ok", "", True),
    ]
    page.until(lambda: page.cells, "a cell")
    assert list(page.cells[state["key"]]) == ["plan"]
    shown = page.shows("Subtask 1 of 2: Look")
    assert "To stop" not in shown["text/plain"] and "Leap" not in shown["text/html"], "the page has buttons and cells"
    assert not any("application/vnd.jupyter.widget-view+json" in data for data in page.displays.values())
    assert kernel.order()["cells"] is True


def test_a_hello_is_answered_while_a_cell_waits(kernel, tab):
    page = tab()
    page.connect()
    sent = page.execute("%%explora steered --wait\ntask")
    state = begun(page)
    again = tab("tab-1")  # a reload: the same page, another session
    assert [run["key"] for run in again.connect()["runs"]] == [state["key"]]
    assert list(again.sync(state["key"])["cells"][0]["metadata"]) == ["exploracoder_jupyter"]
    again.ask("plan", run=state["key"], titles=["end"])
    again.state(lambda state: state["status"] == "unchecked" and state["code"] == "answer = 42", "the end")
    reply = page.reply(sent)
    assert (reply["status"], reply["payload"]) == ("ok", [])
    assert "answer = 42" not in page.shows("Unchecked. It ran.")["text/plain"], "the solution's cell has it"
    assert again.sync(state["key"])["state"]["card"] == page.shows("Unchecked. It ran."), "for a page that missed it"


def test_controls_take_effect_while_a_cell_is_running(kernel, tab):
    page = tab()
    page.connect()
    run = explore(page)["key"]
    with busy(kernel, page):
        assert page.ask("retry", run=run, subtask="1", hint=" smaller ")["problem"] == ""
        assert page.ask("choose", run=run, candidate="1.2")["problem"] == ""
        assert page.ask("plan", run=run, titles=["Leap", " ", "Land"])["problem"] == ""
        assert page.ask("skip", run=run, subtask="1")["problem"] == ""
        page.until(lambda: len(page.cells[run]) == 5, "what was asked for")
        controls = [json.loads(cell["source"]) for cell in list(page.cells[run].values())[1:]]
        assert controls == [
            {"subtask": "1", "hint": "smaller"},
            {"candidate": "1.2"},
            {"titles": ["Leap", "Land"]},
            {"subtask": "1"},
        ]
        assert page.ask("stop", run=run)["problem"] == ""
        statuses = [event["state"]["status"] for event in page.events if event["type"] == "state"]
        assert "stopping" in statuses
        assert statuses[-1] in ("stopping", "stopped")
        page.state(lambda state: state["status"] == "stopped", "the end", run)
        assert ended(kernel.order()["pid"])


def test_what_cannot_be_done_is_one_sentence(kernel, tab):
    page = tab()
    page.connect()
    run = explore(page)["key"]
    for asked, problem in [
        ({"kind": "stop", "run": "nowhere"}, "This kernel no longer knows this run."),
        ({"kind": "skip", "run": run, "subtask": "9"}, "There is no subtask 9 in this run."),
        ({"kind": "retry", "run": run, "subtask": "2"}, "Subtask 2 has not begun yet."),
        ({"kind": "choose", "run": run, "candidate": "7.7"}, "There is no candidate 7.7 in this run."),
        ({"kind": "choose", "run": run, "candidate": "1.1"}, "Candidate 1.1 is already carried forward."),
        ({"kind": "export", "run": run}, "There is no trace yet."),
        ({"kind": "dance", "run": run}, "The kernel does not know this request."),
        ({"kind": "choose", "run": run}, "The kernel does not know this request."),
        ({"kind": "hello", "version": 99}, "JupyterLab's extension and the kernel's package do not match."),
    ]:
        answer = page.ask(**asked)
        assert answer["type"] == "done"
        assert answer["problem"].startswith(problem)
    page.ask("stop", run="0123abcd")
    page.state(lambda state: state["status"] == "stopped", "the end", run)
    assert page.ask("stop", run=run)["problem"] == "This run has ended."
    assert page.run("1")["status"] == "ok"


def test_controls_run_no_hooks_of_the_shell(kernel, tab):
    """Such hooks show and close figures, also those that the running cell is still drawing."""
    page = tab()
    page.connect()
    run = explore(page)["key"]
    page.run(HOOK)
    with busy(kernel, page):
        page.ask("plan", run=run, titles=["one"])
    _, output = kernel.run("print(set(seen))\nget_ipython().events.callbacks['post_execute'].clear()")
    assert output == "{'MainThread'}\n"


def test_a_trace_is_exported_and_linked(kernel, tab, monkeypatch):
    page = tab()
    page.connect()
    trace = kernel.folder / "explorations" / "fake.ipynb"
    trace.parent.mkdir(exist_ok=True)
    nbformat.write(render(complete_run()), trace)
    page.run("%%explora quick\ntask")
    run = page.state(lambda state: state["trace"], "the trace")["key"]
    answer = page.ask("export", run=run, seconds=60)
    assert (answer["problem"], answer["said"]) == ("", "Written: explorations/fake-selected.ipynb")
    assert (trace.parent / "fake-selected.ipynb").exists()
    trace.unlink()
    assert page.ask("export", run=run, seconds=60)["problem"]


def test_a_reloaded_page_goes_on_where_it_was(kernel, tab):
    page = tab()
    page.connect()
    run = explore(page)["key"]
    page.ask("plan", run=run, titles=["one"])
    page.until(lambda: "control-1" in page.cells.get(run, {}), "the first cell")
    page.close()
    again = tab()
    again.connect()
    again.ask("plan", run=run, titles=["two"])
    answer = again.sync(run)
    assert answer["state"]["owner"] == "tab-1"
    again.ask("plan", run=run, titles=["three"])
    again.until(lambda: list(again.cells[run]) == ["plan", "control-1", "control-2", "control-3"], "all cells in order")


def test_another_tab_waits_until_the_owner_is_gone(kernel, tab):
    first, second = tab(), tab("tab-2")
    first.connect()
    second.connect()
    run = explore(first)["key"]
    number = second.post("sync", page="tab-2", run=run)
    first.until(lambda: any(event["type"] == "who" for event in first.events), "the question")
    assert second.answer(number)["state"]["owner"] == "tab-1"
    first.deaf = True
    number = second.post("sync", page="tab-2", run=run)
    with busy(kernel, first):  # the late answer must not move the comm to the thread that is busy by then
        assert second.restore(run, second.answer(number))["state"]["owner"] == "tab-2"
        first.state(lambda state: state["owner"] == "tab-2", "the new owner", run)
        second.ask("plan", run=run, titles=["one"])
        second.until(lambda: "control-1" in second.cells[run], "a cell")
    assert "control-1" not in first.cells.get(run, {})


def test_deleted_cells_stay_away(kernel, tab):
    page = tab()
    page.connect()
    run = explore(page)["key"]
    page.ask("plan", run=run, titles=["one"])
    page.until(lambda: "control-1" in page.cells.get(run, {}), "a cell")
    assert page.ask("dismiss", run=run, cells=["control-1"])["problem"] == ""
    del page.cells[run]["control-1"]
    page.ask("plan", run=run, titles=["two"])
    page.until(lambda: list(page.cells[run]) == ["plan", "control-2"], "the next cell")
    assert [event["changes"][0]["after"] for event in page.events if event["type"] == "cells"][-1] == "plan"
    page.sync(run)
    assert list(page.cells[run]) == ["plan", "control-2"]
    page.ask("dismiss", run=run)
    page.ask("plan", run=run, titles=["three"])
    assert page.sync(run)["cells"] == []
    page.ask("stop", run=run)
    page.state(lambda state: state["status"] == "stopped", "the end", run)
    assert page.cells[run] == {}


def test_without_a_page_the_panel_works_as_before(kernel, tab):
    page = tab()
    assert page.run("%%explora steered\ntask")["status"] == "ok"
    assert "To stop: %explora stop" in page.shows("Look")["text/plain"]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in page.displays.values())
    assert page.events == []
    run = page.connect(subshell=False)["runs"][0]
    assert run["owner"] == "tab-1"
    assert [cell["id"] for cell in page.sync(run["key"])["cells"]] == ["plan"]
    page.until(lambda: not any("To stop" in str(data) for data in page.displays.values()), "the card of a page")
    widget = "application/vnd.jupyter.widget-view+json"
    page.until(lambda: not any(widget in data for data in page.displays.values()), "the end of the button")


def test_an_ended_run_is_continued(kernel, tab):
    page = tab()
    page.connect()
    run = explore(page)["key"]
    wanted = {"run": run, "candidate": "1.2"}
    assert "has not ended yet" in page.run("%%explora quick\ntask", **{"continue": wanted})["evalue"]
    page.ask("stop", run=run)
    page.state(lambda state: state["status"] == "stopped", "the end", run)
    for wanted, given in [
        ({"run": run, "candidate": "1.2"}, {"code": ["x = 2"], "hint": "", "chosen": True}),
        ({"run": run, "subtask": "2", "hint": "h"}, {"code": ["x = 1"], "hint": "h", "chosen": False}),
        ({"run": run, "subtask": "1"}, {"code": [], "hint": "", "chosen": False}),
    ]:
        (kernel.folder / "order.json").unlink(missing_ok=True)
        assert page.run("%%explora quick --wait\ntask", **{"continue": wanted})["status"] == "ok"
        assert kernel.order()["given"] == {"plan": ["Look", "Leap"], **given}
    for wanted, problem in [
        ({"run": run, "subtask": "7"}, "There is no subtask 7 in that run."),
        ({"run": run, "candidate": "7.7"}, "There is no candidate 7.7 in that run."),
    ]:
        assert problem in page.run("%%explora quick\ntask", **{"continue": wanted})["evalue"]


@pytest.mark.parametrize("left", [{"run": "gone", "subtask": "2"}, "nonsense"])
def test_leftovers_of_a_saved_cell_block_nothing(kernel, tab, left):
    assert tab().run("%%explora quick --wait\ntask", **{"continue": left})["status"] == "ok"
    assert kernel.order()["given"] is None


def test_exploring_again_ends_the_earlier_run(kernel, tab):
    page = tab()
    page.connect()
    first = explore(page)["key"]
    assert page.run("%%explora steered\ntask")["status"] == "ok"
    page.state(lambda state: state["status"] == "stopped", "the end of the first", first)
    second = page.state(lambda state: state["key"] != first and chosen(state), "the second")
    assert second["status"] == "running"


def test_a_late_page_shows_no_solution_twice(kernel, tab):
    page = tab()
    reply = page.run("%%explora shown --wait\ntask")
    assert [payload["text"] for payload in reply["payload"]] == ["answer = 42"]
    (run,) = page.connect(subshell=False)["runs"]
    assert [cell["id"] for cell in page.sync(run["key"])["cells"]] == ["plan"]


def test_clean_is_done_by_the_page_that_asks(kernel, tab):
    first, second = tab(), tab("tab-2")
    first.connect()
    second.connect()
    assert second.run("%explora clean --keep-solution")["status"] == "ok"
    second.until(lambda: second.events, "the message")
    assert second.events[-1] == {"type": "clean", "session": second.session, "keep_solution": True}


def test_page_or_line_accepts_a_reviewed_plan(kernel, tab):
    page = tab()
    assert page.run("%%explora reviewed --review\ntask")["status"] == "ok"
    assert "To start as planned: %explora accept." in page.shows("is waiting")["text/plain"]
    assert page.run("%explora accept")["status"] == "ok"
    page.shows("Unchecked")
    assert json.loads((kernel.folder / "accepted.json").read_text())["titles"] == ["Look", "Leap"]
    assert "No plan is waiting" in page.run("%explora accept")["evalue"]
    assert "--review requires a page" in page.run("%%explora reviewed --review --wait\ntask")["evalue"]
    assert "--review requires a page" in page.run("%%explora reviewed --review\ntask", cell=None)["evalue"]
    page.connect()
    sent = page.execute("%%explora reviewed --review --wait\ntask")
    state = page.state(lambda state: state["status"] == "reviewing", "the review")
    page.ask("plan", run=state["key"], titles=["Look"])
    assert page.reply(sent)["status"] == "ok"
    assert json.loads((kernel.folder / "accepted.json").read_text())["titles"] == ["Look"]


def siblings(folder, before):
    """Processes that have begun since then and are at work below the folder: a branch is nobody's child."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid not in before and any(str(folder) in at for at in (process.cwd(), *process.cmdline())):
                found.append(process)
    return found


def test_siblings_are_gone_after_stop(tmp_path, monkeypatch):
    """With the real engine."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with kernel_in(tmp_path) as kernel:
        (tmp_path / "engine").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        kernel.load()
        page = Page(kernel.manager, "tab-1").listen()
        try:
            page.connect()
            before = set(psutil.pids())
            assert page.run(f"%%explora statistics --candidates 10\n{TWO_STEPS}")["status"] == "ok"
            state = page.state(lambda state: any(row["candidates"] for row in state["subtasks"]), "a candidate")
            processes = siblings(tmp_path, before)
            assert len(processes) > 1, "the engine and more"
            with busy(kernel, page):
                page.ask("stop", run=state["key"])
                page.state(lambda state: state["status"] == "stopped", "the end")
                assert all(ended(process.pid) for process in processes)
        finally:
            page.close()


def test_a_page_completes_libraries_beside_a_running_cell(kernel, tab):
    page = tab()
    page.connect()
    kernel.run("import json as j\nfrom collections import OrderedDict")
    with busy(kernel, page):
        names = page.ask("list_libraries")
    assert {"json", "collections"} <= set(names["imported"])
    assert {"pydantic", "statistics"} <= set(names["installed"])
    assert not {"__main__", "builtins"} & set(names["imported"])
