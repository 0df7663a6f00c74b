"""What pages receive about a run and what they can request, without a kernel."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import comm
import nbformat
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    PlanMade,
    Record,
    ReviewAsked,
    RunFinished,
    RunStarted,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.run_state import RunState, fold, with_failure
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Environment,
    ErrorInfo,
    Observation,
    Plan,
    ScoredApi,
    Selection,
    Solution,
    Subtask,
    Task,
    Usage,
    Verdict,
)
from exploracoder_jupyter.ipython_extension import jupyter_server
from exploracoder_jupyter.ipython_extension.browser import browser_comms
from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun, RunContext, run_view
from exploracoder_jupyter.ipython_extension.running.runs import (
    Run,
    apply_control,
    build_continuation,
    describe_continuation,
)
from exploracoder_jupyter.protocol import browser_messages
from exploracoder_jupyter.protocol.browser_messages import CellChange, Continue, RetrySubtask, SkipSubtask, StopRun
from exploracoder_jupyter.protocol.messages import Stop
from exploracoder_jupyter.trace.file import render
from tests.patience import patience
from tests.unit.factories import state_after

SETTINGS = {"budget": {"tokens": 5000, "seconds": 90}}
START = RunStarted(
    "0123abcd",
    Task("t", ("nx",)),
    SETTINGS,
    "m",
    Environment("", "", "", "namespaces", "fork", state="fresh"),
    "0",
)
PLAN = PlanMade(Plan(tuple(Subtask(str(n), title) for n, title in enumerate(("Make", "Count", "Draw"), 1))))
GRAPH = ApiDoc("nx.Graph", "class", "(data)", "Make a\ngraph.\n\nMore.", "nx", "1")
OLD = replace(GRAPH, path="nx.old", deprecated="Use Graph.")


def tried(id, status="ok", *, subtask="", text="", code="", error=None, apis=(), **fields):
    subtask = subtask or id.partition(".")[0]
    yield CandidateProposed(Candidate(id, subtask, code or f"code_{id}", **fields))
    yield CandidateObserved(id, Observation(status, text=text, seconds=0.25, error=error), apis)


def done(id, selected, status="done"):
    yield SubtaskStarted(id, (ScoredApi(GRAPH, 1.0), ScoredApi(OLD, 0.5)))
    yield from tried(f"{id}.1", text="\n  three nodes \nmore", apis=("nx.Graph", "nx.other"))
    yield from tried(f"{id}.2", "error", error=ErrorInfo("KeyError", "'x'"))
    if selected:
        yield CandidateSelected(Selection(id, selected, ("ran", "shorter")))
    yield SubtaskFinished(id, status, "its reason")


def view_of(state, **place):
    return run_view(state, RunContext(**{"key": "k", "cell": "c", "folder": None, **place}))


BEGUN = (START, PLAN, *done("1", "1.1"), *done("2", "2.1"))


def test_the_view_has_what_the_sidebar_shows(tmp_path):
    trace = tmp_path / "explorations" / "a b.ipynb"
    state = replace(state_after(*BEGUN), trace=str(trace))
    view = view_of(state, folder=tmp_path, owner="tab")
    assert (view.key, view.run_id, view.cell, view.owner, view.status) == ("k", "0123abcd", "c", "tab", "running")
    assert (view.task, view.libraries, view.model) == ("t", ["nx"], "m")
    assert (view.budget_tokens, view.budget_seconds, view.executions) == (5000, 90.0, 4)
    assert view.isolation == "namespaces; state fresh"
    assert (view.started, view.ended, view.trace_link) == (1001.0, None, "explorations/a b.ipynb")
    assert [row.status for row in view.subtasks] == ["done", "done", "planned"]
    first = view.subtasks[0]
    assert (first.selected, first.why, first.reason) == ("1.1", ["ran", "shorter"], "its reason")
    assert [(one.id, one.status, one.line, one.seconds, one.selectable) for one in first.candidates] == [
        ("1.1", "ok", "three nodes", 0.25, True),
        ("1.2", "error", "KeyError: 'x'", 0.25, False),
    ]
    assert [(api.path, api.doc, api.recommended, api.used) for api in first.apis] == [
        ("nx.Graph", "Make a graph.", True, True),
        ("nx.old", "Deprecated: Use Graph. Make a graph.", True, False),
        ("nx.other", "", False, True),
    ]
    assert view.solution is None


def test_a_repair_names_its_origin():
    state = state_after(START, PLAN, *tried("1.1r1", round=1, repairs="1.1"), *tried("s1", subtask="solution"))
    repaired = view_of(state).subtasks[0].candidates[0]
    assert (repaired.round, repaired.repairs) == (1, "1.1")
    assert [one.selectable for one in view_of(state).solution.candidates] == [False]


@pytest.mark.parametrize(
    ("state", "stopping", "status"),
    [
        (RunState(), False, "starting"),
        (state_after(START), False, "running"),
        (state_after(START, PLAN, ReviewAsked()), False, "reviewing"),
        (state_after(START, PLAN, ReviewAsked(), Steered("skip", "2")), False, "reviewing"),
        (state_after(START, PLAN, ReviewAsked(), Steered("replan")), False, "running"),
        (state_after(START), True, "stopping"),
        (state_after(START, RunFinished(Verdict("solved", ""), None, Usage())), True, "solved"),
        (with_failure(RunState(), "No.", at=1.0), False, "failed"),
        (with_failure(RunState(), "No.", at=1.0), True, "stopped"),
    ],
)
def test_the_status_of_a_run(state, stopping, status):
    assert view_of(state, stopping=stopping).status == status


@pytest.mark.parametrize("what", ["retry", "choose"])
def test_a_retry_plans_later_subtasks_again(what):
    running = CandidateProposed(Candidate("s1", "solution", "x"))
    state = state_after(*BEGUN, running, Steered(what, subtask="1", hint="smaller"))
    first, second, _ = state.planned
    assert (first.status, first.selection, first.hint) == ("exploring", None, "smaller")
    assert (second.status, second.selection, second.reason) == ("planned", None, "")
    assert [one.id for one in (*first.candidates, *second.candidates)] == ["1.1", "1.2", "2.1", "2.2"]
    assert (state.solution_section.status, state.solution_section.candidates[0].state) == ("planned", "not finished")
    assert state.activity == "Subtask 1 of 3: Make"
    chosen = state_after(CandidateSelected(Selection("1", "1.1", ("by hand",))), state=state)
    assert (chosen.planned[0].selected.id, chosen.planned[0].selection.reasons) == ("1.1", ("by hand",))


def test_skips_and_unknown_subtasks_reset_nothing():
    before = state_after(*BEGUN)
    for event in (Steered("skip", subtask="1"), Steered("retry", subtask="9")):
        assert fold(before, Record(99, before.now, event)) == before


@pytest.mark.parametrize(
    ("wanted", "plan", "code", "hint"),
    [
        ({"subtask": "2", "hint": " h "}, ["Make", "Count", "Draw"], ["code_1.1"], "h"),
        ({"subtask": "1"}, ["Make", "Count", "Draw"], [], ""),
        ({"candidate": "2.1"}, ["Make", "Count", "Draw"], ["code_1.1", "code_2.1"], ""),
        ({"candidate": "2.1", "code": "mine"}, ["Make", "Count", "Draw"], ["code_1.1", "mine"], ""),
        ({"candidate": "2.2", "code": "mended"}, ["Make", "Count", "Draw"], ["code_1.1", "mended"], ""),
        ({}, ["Make", "Count"], ["code_1.1", "code_2.1"], ""),
    ],
)
def test_what_a_continuing_run_begins_with(wanted, plan, code, hint):
    found = build_continuation(state_after(*BEGUN), Continue(run="k", **wanted))
    assert (found.plan, found.code, found.hint) == (plan, code, hint)


@pytest.mark.parametrize(
    ("wanted", "words", "chosen"),
    [
        ({"candidate": "2.1"}, "candidate 2.1 chosen", True),
        ({"candidate": "2.1", "code": "mine"}, "candidate 2.1 edited", True),
        ({"subtask": "2", "hint": " smaller "}, "step 2 again, hint: smaller", False),
        ({"subtask": "2"}, "step 2 again", False),
    ],
)
def test_a_continuation_is_described(wanted, words, chosen):
    state, asked = state_after(*BEGUN), Continue(run="k", **wanted)
    assert (describe_continuation(state, asked), build_continuation(state, asked).chosen) == (words, chosen)
    assert view_of(state, origin=words).origin == words


def test_the_view_has_the_time_spent_waiting():
    waiting = state_after(START, PLAN, ReviewAsked())
    assert (view_of(waiting).waited, view_of(waiting).waiting_since) == (0.0, 1003.0)
    end = RunFinished(Verdict("unchecked", ""), None, Usage(seconds=4.0))
    over = fold(fold(waiting, Record(4, 1100.0, Steered("replan"))), Record(5, 1102.0, end))
    assert (view_of(over).waited, view_of(over).waiting_since) == (97.0, None)
    assert view_of(over).ended == 1001.0 + 97.0 + 4.0


@pytest.mark.parametrize("selected", [None, "1.2"])
def test_a_subtask_that_gave_nothing_is_passed_over(selected):
    state = state_after(START, PLAN, *done("1", selected, "failed"), *done("2", "2.1"))
    found = build_continuation(state, Continue(run="k", subtask="3"))
    assert (found.plan, found.code) == (["Count", "Draw"], ["code_2.1"])


@pytest.mark.parametrize("wanted", [{"subtask": "9"}, {"candidate": "9.9"}, {"candidate": "1.2"}, {"candidate": "s1"}])
def test_continuing_from_an_unusable_place_is_refused(wanted):
    state = state_after(*BEGUN, *tried("s1", subtask="solution"))
    with pytest.raises(UsageError):
        build_continuation(state, Continue(run="k", **wanted))


class Audience:
    has_listeners = True

    def __init__(self):
        self.messages, self.news = [], threading.Condition()

    def broadcast(self, message):
        with self.news:
            self.messages.append(message)
            self.news.notify_all()

    def of(self, kind):
        return [message for message in self.messages if message.type == kind]


@pytest.fixture
def audience():
    return Audience()


@pytest.fixture
def live(audience):
    return LiveRun(audience, RunContext("k", "anchor", None), RunState(), session="s")


def change(action, id, after=None, source=""):
    return CellChange(action=action, id=id, after=after, cell=None if action == "remove" else {"id": id, "s": source})


def cells(live):
    return [cell["id"] for cell in live.snapshot(1).cells]


def test_cells_are_kept_in_order_and_numbered(live, audience):
    live.update_cells([change("insert", "a", "anchor"), change("insert", "c", "a")])
    live.update_cells([change("insert", "b", "a"), change("replace", "a", "anchor", "new")])
    live.update_cells([change("remove", "c"), change("remove", "unknown")])
    assert cells(live) == ["a", "b"]
    assert live.snapshot(7).cells[0]["s"] == "new"
    assert (live.snapshot(7).request, live.snapshot(7).seq) == (7, 3)
    assert [message.seq for message in audience.of("cells")] == [1, 2, 3]


def test_a_snapshot_lists_finally_removed_cells(live):
    live.update_cells([change("insert", id, "anchor") for id in ("a", "b")])
    live.update_cells([change("remove", "a"), change("remove", "b"), change("insert", "a", "anchor")])
    live.dismiss(["a"])
    assert (cells(live), live.snapshot(1).removed) == ([], ["b"])


def marked(id, status):
    mark = {"status": status, "role": "candidate"}
    cell = {"id": id, "metadata": {"tags": [], "exploracoder_jupyter": mark}}
    return CellChange(action="insert", id=id, after="anchor", cell=cell)


def test_work_under_way_at_a_crash_is_interrupted(live, audience):
    live.update_cells([marked("a", "ok"), marked("b", "running"), change("insert", "c", "b")])
    live.update_state(RunState(failure="The engine ended unexpectedly."))
    [message] = [message for message in audience.of("cells") if message.seq == 2]
    [replaced] = message.changes
    assert (replaced.action, replaced.id) == ("replace", "b")
    assert replaced.cell["metadata"] == {
        "tags": [],
        "exploracoder_jupyter": {"status": "interrupted", "role": "candidate"},
    }
    assert [message.type for message in audience.messages][-2:] == ["cells", "state"]
    live.update_state(RunState(failure="The engine ended unexpectedly."))
    assert len(audience.of("cells")) == 2


def test_an_insert_that_comes_twice_does_no_harm(live):
    live.update_cells([change("insert", "a", "anchor"), change("insert", "b", "a")] * 2)
    assert cells(live) == ["a", "b"]


def test_deleted_cells_are_not_sent_or_followed(live, audience):
    live.update_cells([change("insert", "a", "anchor"), change("insert", "b", "a")])
    live.dismiss(["a", "b"])
    live.update_cells([change("replace", "b", "a", "new")])
    assert len(audience.of("cells")) == 1
    live.update_cells([change("insert", "c", "b")])
    assert audience.of("cells")[-1].changes[0].after == "anchor"
    assert cells(live) == ["c"]
    live.dismiss([])
    live.update_cells([change("insert", "d", "c")])
    assert (cells(live), len(audience.of("cells"))) == ([], 2)


def test_cells_are_kept_while_nobody_listens(live, audience):
    audience.has_listeners = False
    live.update_cells([change("insert", "a", "anchor")])
    live.update_state(RunState(activity="Reading."))
    audience.has_listeners = True
    assert audience.messages == []
    assert (cells(live), live.view.activity) == (["a"], "Reading.")
    live.update_cells([change("insert", "b", "a")])
    assert audience.of("cells")[0].seq == 2


def test_states_are_sent_sometimes_and_at_the_end(live, audience):
    for number in range(200):
        live.update_state(RunState(activity=f"{number}."))
    with audience.news:
        assert audience.news.wait_for(lambda: audience.messages[-1].state.activity == "199.", timeout=patience(10))
    assert len(audience.messages) < 20
    sent_before = len(audience.messages)
    live.update_state(RunState(failure="It broke.", activity="It broke."))
    assert [message.state.status for message in audience.messages[sent_before:]] == ["failed"]


@pytest.mark.parametrize(
    ("strategy", "problem"),
    [("rag", "A run with the strategy 'rag' can only be stopped."), ("explore", "There is no subtask 1 in this run.")],
)
def test_only_an_exploration_can_be_steered(live, strategy, problem):
    state = RunState(started=replace(START, settings={"exploration": {"strategy": strategy}}))
    sent = []
    run = Run(SimpleNamespace(send=sent.append), live, state, ExitStack(), lambda _: None)
    for control in (SkipSubtask(run="r", subtask="1"), RetrySubtask(run="r", subtask="1")):
        assert apply_control(run, control) == problem
    assert apply_control(run, StopRun(run="r")) == "" and sent == [Stop()]


def test_a_stop_is_sent_before_the_end(live, audience):
    relay = SimpleNamespace(send=lambda message: live.update_state(RunState(failure="It was stopped.")))
    Run(relay, live, RunState(), ExitStack(), display=lambda run: None).stop()
    assert [message.state.status for message in audience.messages] == ["stopping", "stopped"]


def test_a_run_without_calling_cell_has_no_owner(audience):
    live = LiveRun(audience, RunContext("k", None, None), RunState(), session="s")
    live.set_owner("tab")
    assert (live.owner, audience.messages) == ("", [])


def test_the_names_of_the_comms_are_the_pages():
    assert (browser_comms.EVENTS, browser_comms.CONTROL) == (browser_messages.EVENTS, browser_messages.CONTROL)


class Sent(comm.base_comm.BaseComm):
    """A comm that keeps what it would send."""

    all: list = []  # noqa: RUF012
    broken = False

    def __del__(self):
        """Those of an earlier test say nothing when they are collected."""

    def publish_msg(self, kind, data=None, **keys):
        if Sent.broken:
            raise RuntimeError("the kernel is going down")
        Sent.all.append((self.target_name, kind, data))


@pytest.fixture
def linked(monkeypatch):
    """A link, its desk, and a manager of comms as a kernel has it."""
    manager = comm.base_comm.CommManager()
    monkeypatch.setattr(comm, "create_comm", Sent)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: manager)
    Sent.all, Sent.broken = [], False
    desk = SimpleNamespace(
        handle=lambda data, answer: answer({"echo": data}), handle_events_closed=lambda: Sent.all.append("nobody")
    )
    linked = browser_comms.BrowserComms(lambda: desk)
    linked.register()
    yield SimpleNamespace(link=linked, desk=desk, manager=manager)
    linked.unregister()


def control(manager, data, kind="comm_msg"):
    content = {"comm_id": "page", "target_name": browser_messages.CONTROL, "data": data}
    getattr(manager, kind)(None, None, {"content": content})


def test_a_control_is_answered_on_its_comm(linked):
    control(linked.manager, {}, "comm_open")
    assert Sent.all == []
    control(linked.manager, {"type": "stop"})
    assert Sent.all == [(browser_messages.CONTROL, "comm_msg", {"echo": {"type": "stop"}})]


def test_internal_errors_are_not_seen_by_the_user(linked, caplog, capsys):
    def handle(data, answer):
        raise ValueError(data)

    linked.desk.handle = handle
    control(linked.manager, {}, "comm_open")
    control(linked.manager, "nonsense")
    Sent.broken = True
    linked.link.open({})
    linked.link.send({})
    linked.desk.handle = lambda data, answer: answer({})
    control(linked.manager, {})
    assert capsys.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


def test_the_events_comm_is_reopened_and_never_closed(linked):
    """Issue 14, item 22: closing the old comm is an error in the console of a page that was reloaded."""
    linked.link.send({"lost": True})
    linked.link.open({"n": 1})
    linked.link.open({"n": 2})
    linked.link.send({"n": 3})
    kinds = [(kind, data) for _, kind, data in Sent.all]
    assert kinds == [("comm_open", {"n": 1}), ("comm_open", {"n": 2}), ("comm_msg", {"n": 3})]
    assert len(linked.manager.comms) == 1
    linked.link.unregister()
    assert Sent.all[-1][1] == "comm_close"
    assert browser_messages.CONTROL not in linked.manager.targets


def test_pages_learn_of_unloading_and_may_reconnect(linked):
    control(linked.manager, {}, "comm_open")
    linked.link.unregister()
    linked.link.register()
    assert Sent.all == [(browser_messages.CONTROL, "comm_close", {})]
    control(linked.manager, {"type": "hello"}, "comm_open")
    assert Sent.all[-1] == (browser_messages.CONTROL, "comm_msg", {"echo": {"type": "hello"}})


def test_an_unknowing_front_end_closes_the_comm(linked):
    linked.link.open({})
    (events,) = linked.manager.comms
    linked.manager.comm_close(None, None, {"content": {"comm_id": events}})
    assert Sent.all[-1] == "nobody"


@pytest.fixture
def desk(linked, tmp_path):
    (tmp_path / "explorations").mkdir()
    (tmp_path / "explorations" / "nx-1.ipynb").write_text("{}")
    return Controls(linked.link, folder=lambda: tmp_path)


def answer_of(desk, data):
    answers = []
    desk.handle(data, answers.append)
    return answers[0]


HELLO = {"type": "hello", "request": 3, "version": browser_messages.VERSION, "page": "tab", "session": "s"}


def test_hello_is_answered_with_what_there_is(desk):
    welcome = answer_of(desk, HELLO)
    assert (welcome["type"], welcome["request"], welcome["runs"]) == ("welcome", 3, [])
    assert [trace["link"] for trace in welcome["traces"]] == ["explorations/nx-1.ipynb"]
    assert Sent.all[-1][:2] == (browser_messages.EVENTS, "comm_open")
    assert Sent.all[-1][2]["reason"] == "hello"


def test_a_trace_has_start_task_and_outcome(desk, tmp_path):
    events = [replace(START, task=Task("Make a graph;\nthen count.", ("nx",))), PLAN]
    records = [Record(seq, 1000.0 + seq, event) for seq, event in enumerate(events, 1)]
    for name, known in (
        ("cut", records),
        ("whole", [*records, Record(3, 1009.0, RunFinished(Verdict("solved", ""), None, Usage()))]),
    ):
        nbformat.write(render(known), tmp_path / "explorations" / f"{name}.ipynb")
    traces = {trace["link"]: trace for trace in answer_of(desk, HELLO)["traces"]}
    for name, outcome in (("cut", ""), ("whole", "solved")):
        trace = traces[f"explorations/{name}.ipynb"]
        assert (trace["started"], trace["task"], trace["outcome"]) == (1001.0, "Make a graph; then count.", outcome)
    assert (traces["explorations/nx-1.ipynb"]["started"], traces["explorations/nx-1.ipynb"]["task"]) == (None, "")


def test_errors_in_the_kernel_are_answered_too(linked):
    def folder():
        raise RuntimeError("no\nfolder")

    answer = answer_of(Controls(linked.link, folder=folder), HELLO)
    assert (answer["type"], answer["request"]) == ("done", 3)
    assert answer["problem"] == "The kernel could not do this: RuntimeError: no"


def test_a_renamed_notebook_keeps_its_links(desk, tmp_path, monkeypatch):
    """Issue 14, item 21: the kernel knew the first name alone, and lost the links."""
    monkeypatch.setattr(
        "exploracoder_jupyter.ipython_extension.browser.browser_controls.served_notebook", lambda path: tmp_path / path
    )
    live = LiveRun(
        desk,
        RunContext("k", "c", tmp_path, root=tmp_path),
        RunState(trace=str(tmp_path / "explorations" / "nx-1.ipynb")),
        session="s",
    )
    desk.runs.all.append(SimpleNamespace(live=live, state=RunState(), over=False))
    (tmp_path / "notes").mkdir()
    for name, shown in [("a.ipynb", "explorations/nx-1.ipynb"), ("notes/b.ipynb", "../explorations/nx-1.ipynb")]:
        (tmp_path / name).touch()
        welcome = answer_of(desk, {**HELLO, "notebook": name})
        assert [run["trace_link"] for run in welcome["runs"]] == [shown]
        assert desk.notebook("s") == tmp_path / name
    assert answer_of(desk, {**HELLO, "session": "other"})["type"] == "welcome"
    assert desk.notebook("other") is None
    (tmp_path / "notes" / "b.ipynb").unlink()
    assert desk.notebook("s") is None


@pytest.mark.parametrize("noted", [True, False])
def test_a_notebook_is_found_by_its_server_path(tmp_path, monkeypatch, noted):
    """Issue 14, item 21: also where the server has not noted its root, if it was renamed in its folder."""
    monkeypatch.setattr(jupyter_server, "server_root", lambda: tmp_path if noted else None)
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "deep" / "first.ipynb"))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "renamed.ipynb").touch()
    assert jupyter_server.served_notebook("deep/renamed.ipynb") == tmp_path / "deep" / "renamed.ipynb"
    assert jupyter_server.served_notebook("deep/gone.ipynb") is None
    assert jupyter_server.served_notebook("") is None


class News:
    """A run that ends on another thread just when something is sent that says how it stands."""

    def __init__(self, desk):
        state = RunState(started=replace(START, run_id="1"))
        self.live, self.statuses = LiveRun(self, RunContext("k", "c", None), state, session="s"), []
        self.has_listeners = True
        run = SimpleNamespace(live=self.live, state=state, over=False)
        desk.runs.all.append(run)
        self._end = threading.Thread(target=lambda: self.live.update_state(RunState(failure="It broke.")))

    def broadcast(self, message):
        self.statuses.append(message.state.status)

    def send(self, data):
        """As an answer or an opening is sent; what it says was looked up before."""
        self._end.start()
        self._end.join(0.2)
        state = data["state"] if "state" in data else data["runs"][0]
        self.statuses.append(state["status"])

    def all(self):
        self._end.join()
        return self.statuses[-2:]


@pytest.mark.parametrize("how", ["welcome", "snapshot", "opening"])
def test_the_end_of_a_run_is_sent_last(desk, linked, monkeypatch, how):
    news = News(desk)
    if how == "opening":
        monkeypatch.setattr(linked.link, "open", news.send)
        desk.announce_call("s")
    else:
        data = HELLO if how == "welcome" else {"type": "sync", "request": 1, "page": "", "run": "k"}
        desk.handle(data, news.send)
    assert news.all() == ["running", "failed"]


def test_a_call_waits_only_for_unknown_pages(desk, monkeypatch):
    wait = desk.announce_call("s")
    assert Sent.all[-1][2]["reason"] == "call"
    threading.Timer(0.01, answer_of, (desk, HELLO)).start()
    assert wait() == "tab"
    assert desk.announce_call("s")() == "tab"
    monkeypatch.setattr("exploracoder_jupyter.ipython_extension.browser.browser_controls.HANDSHAKE_SECONDS", 0.01)
    assert desk.announce_call("another")() == ""
    assert Controls(None, folder=lambda: None).announce_call("s")() == ""


def test_one_page_serves_two_notebooks_on_a_kernel(desk):
    answer_of(desk, HELLO)
    answer_of(desk, {**HELLO, "session": "t"})
    assert (desk.announce_call("s")(), desk.announce_call("t")()) == ("tab", "tab")
    assert desk.clean("s", keep_solution=False)
    assert Sent.all[-1][2]["session"] == "s"


def test_a_closed_comm_ends_the_wait_for_pages(desk, linked, monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.ipython_extension.browser.browser_controls.HANDSHAKE_SECONDS", 3600)
    linked.desk.handle_events_closed = desk.handle_events_closed
    wait = desk.announce_call("s")
    control(linked.manager, {}, "comm_open")
    events = next(id for id in linked.manager.comms if id != "page")
    linked.manager.comm_close(None, None, {"content": {"comm_id": events}})
    assert wait() == ""


def test_nothing_is_sent_before_a_hello(desk):
    assert not desk.has_listeners
    assert answer_of(desk, {**HELLO, "version": browser_messages.VERSION + 1})["problem"]
    assert not desk.has_listeners
    answer_of(desk, HELLO)
    assert desk.has_listeners


@pytest.mark.parametrize(
    "data", [None, [], "x", {}, {"type": "stop"}, {"type": "sync", "request": "x"}, {"request": 4}]
)
def test_nonsense_is_answered_in_one_sentence(desk, data):
    answer = answer_of(desk, data)
    assert answer["type"] == "done"
    assert answer["problem"].startswith("The kernel does not know this request.")
    assert answer["request"] == (4 if data == {"request": 4} else 0)


def test_the_offered_solution_is_in_the_view():
    end = RunFinished(Verdict("unchecked", "It ran."), Solution("x = 1", "s1"), Usage(3, 10, 5, 1.0, 7))
    view = view_of(state_after(*BEGUN, end))
    assert (view.status, view.code, view.activity) == ("unchecked", "x = 1", "Unchecked. It ran.")
    assert (view.calls, view.tokens, view.executions) == (3, 15, 7), "as the run itself counts"
    assert view.ended == 1017.0, "when the last record was made: the clock continues from the call to here"
