"""The user's hand on the wheel, at every moment of a run, on scripted models and in-process branches."""

import asyncio
import threading
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import Budget
from exploracoder_jupyter.core.events import Steered
from exploracoder_jupyter.core.types import Introduction
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import CarriedSubtask, Meter, ResumePoint, run_task
from exploracoder_jupyter.protocol.messages import Choose, Replan, Retry, Skip
from exploracoder_jupyter.runs import RunSteering
from tests.patience import patience
from tests.unit.pipeline.test_task_run import answers, fenced
from tests.unit.world import InlineBranch, a_run, happened


class Hand:
    """What is asked is taken in order."""

    def __init__(self):
        self.asked = []
        self.came = anyio.Event()

    def ask(self, *controls):
        self.asked += controls
        self.came.set()

    async def next(self):
        while not self.asked:
            self.came = anyio.Event()
            await self.came.wait()
        return self.asked.pop(0)


class Moments:
    """Controls that are asked at a request to the model, by step and subject, or at a run of code; each once.

    The current operation blocks until it is cancelled, or, where nothing is to be cancelled, until every control
    was answered by an event.
    """

    def __init__(self, hand, moments, *, holds):
        self.hand, self.moments, self.holds = hand, dict(moments), holds
        self.cancelled = []
        self.waiting_for = 0
        self.answered = anyio.Event()

    async def pass_by(self, moment):
        controls = self.moments.pop(moment, None)
        if controls is None:
            return
        self.waiting_for = len(controls)
        self.hand.ask(*controls)
        if not self.holds:
            with anyio.fail_after(patience(10)):
                await self.answered.wait()
            return
        try:
            with anyio.fail_after(patience(10)):
                await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(moment)
            raise

    def receive(self, event):
        if isinstance(event, Steered) or (event.kind == "notice" and event.level == "warning"):
            self.waiting_for -= 1
            if self.waiting_for == 0:
                self.answered.set()


def marking(request):
    """Two candidates, each of which leaves a mark of itself behind those of the subtasks before it."""
    return [fenced(f"marks = [*globals().get('marks', []), '{request.subject}{c}']\nprint(marks)") for c in "ab"]


def steered(moments=(), *, holds=True, plan=("a", "b", "c"), steerable=True, given=None, monkeypatch=None, **more):
    """A run of two candidates a subtask, steered at these moments; the run and its moments."""
    budget = more.pop("budget", None)
    settings = {key: more.pop(key) for key in ("debug_rounds", "review", "subtasks", "plan_revisions") if key in more}
    script = answers(plan=plan, **{"propose": marking, "solve": "print('solved')", **more})
    hand = Hand()
    watch = Moments(hand, moments, holds=holds)

    class Watched(ScriptedModel):
        async def complete(self, request):
            await watch.pass_by((request.step, request.subject))
            async for reply in super().complete(request):
                yield reply

    run = a_run(Watched(script._script), candidates=2, budget=budget, **settings)
    run = replace(run, emit=Emitted(watch).append, steering=hand, steerable=steerable, given=given)
    if monkeypatch:
        original = InlineBranch.run

        async def run_code(self, code, *, timeout):
            await watch.pass_by(("run", code))
            return await original(self, code, timeout=timeout)

        monkeypatch.setattr(InlineBranch, "run", run_code)
    return run, watch


async def drive(moments=(), **more):
    """The run, its moments and its result."""
    run, watch = steered(moments, **more)
    return run, watch, await run_task(run)


class Emitted(list):
    """The events of a run."""

    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    def append(self, event):
        super().append(event)
        self.watch.receive(event)


def texts(run):
    return {e.candidate: e.observation.text.strip() for e in happened(run, "candidate_observed")}


def ends(run):
    return [(e.subtask, e.status) for e in happened(run, "subtask_finished")]


def warnings(run):
    return [event.text for event in happened(run, "notice") if event.level == "warning"]


def kinds_after(run, what):
    events = run.emit.__self__
    at = next(i for i, event in enumerate(events) if isinstance(event, Steered) and event.what == what)
    return [event.kind for event in events[at + 1 :]]


def requests(run, step):
    return [(e.exchange.subject, e.exchange.problem) for e in happened(run, "model_called") if e.exchange.step == step]


FAILING = [fenced("1/0")]


def failing_second(request):
    return FAILING if request.subject == "2" else marking(request)


# ---- skip


@pytest.mark.parametrize(
    ("moment", "more"),
    [
        (("recommend", "2"), {}),
        (("propose", "2"), {}),
        (("run", "1/0"), {"propose": failing_second}),
        (("debug", "2.1"), {"propose": failing_second}),
    ],
    ids=["recommending", "proposing", "running", "debugging"],
)
async def test_the_subtask_under_way_is_skipped_at_once(monkeypatch, moment, more):
    run, watch, ending = await drive({moment: [Skip("2")]}, monkeypatch=monkeypatch, **more)
    assert watch.cancelled == [moment]
    assert ends(run) == [("1", "done"), ("2", "skipped"), ("3", "done")]
    assert happened(run, "subtask_finished")[1].reason == "skipped by the user"
    assert texts(run)["3.1"] == "['1a', '3a']"
    assert ending.verdict.outcome == "unchecked"


async def test_interrupted_requests_are_recorded():
    run, _, _ = await drive({("propose", "2"): [Skip("2")]})
    assert requests(run, "propose") == [("1", ""), ("2", "interrupted"), ("3", "")]


async def test_a_later_subtask_is_skipped_before_it_begins():
    run, _, _ = await drive({("propose", "1"): [Skip("2")]}, holds=False)
    assert ends(run) == [("2", "skipped"), ("1", "done"), ("3", "done")]
    assert [subject for subject, _ in requests(run, "recommend")] == ["1", "3"]
    assert texts(run)["3.1"] == "['1a', '3a']"


@pytest.mark.parametrize(
    ("control", "words"),
    [
        (Skip("1"), "Subtask 1 has finished"),
        (Skip("9"), "no subtask 9"),
        (Retry("solution"), "No subtask solution has started"),
        (Retry("9"), "No subtask 9 has started"),
        (Choose("1.1"), "carried forward already"),
        (Choose("2.1"), "Candidate 2.1 cannot be carried forward"),
        (Choose("9.9"), "Candidate 9.9 cannot be carried forward"),
    ],
)
async def test_the_impossible_is_refused_and_changes_nothing(control, words):
    run, _, _ = await drive({("propose", "3"): [control]}, holds=False, propose=failing_second, debug=FAILING[0])
    [reason] = warnings(run)
    assert words in reason and happened(run, "steered") == []
    assert ends(run) == [("1", "done"), ("2", "failed"), ("3", "done")]


# ---- retry


@pytest.mark.parametrize(
    ("moment", "more"),
    [
        (("recommend", "2"), {}),
        (("propose", "2"), {}),
        (("run", "1/0"), {"propose": failing_second}),
        (("debug", "2.1"), {"propose": failing_second}),
        (("propose", "3"), {}),
        (("recommend_global", ""), {}),
        (("solve", "solution"), {}),
    ],
    ids=["recommending", "proposing", "running", "debugging", "exploring a later one", "looking over", "solving"],
)
async def test_a_subtask_restarts_from_its_state(monkeypatch, moment, more):
    run, watch, ending = await drive(
        {moment: [Retry("1", "try harder")]}, monkeypatch=monkeypatch, debug=FAILING[0], **more
    )
    assert watch.cancelled == [moment]
    assert texts(run)["1.3"] == "['1a']"
    assert ("1", "done") in ends(run)[1:]
    assert ends(run)[-1] == ("3", "done")
    assert "plan_made" not in kinds_after(run, "retry")
    assert ending.verdict.outcome == "unchecked"


async def test_the_hint_reaches_only_that_subtask():
    run, _, _ = await drive({("propose", "2"): [Retry("2", "use gcd")]})
    hinted = {
        (e.exchange.step, e.exchange.subject)
        for e in happened(run, "model_called")
        if any("use gcd" in message.content for message in e.exchange.messages)
    }
    assert hinted == {("recommend", "2"), ("propose", "2")}


async def test_ids_are_given_out_once():
    run, _, _ = await drive({("propose", "3"): [Retry("1")], ("solve", "solution"): [Retry("2")]})
    ids = [e.candidate.id for e in happened(run, "candidate_proposed")]
    assert len(ids) == len(set(ids)) == 15 and {"1.4", "2.6", "3.4", "s1"} <= set(ids)


async def test_a_requested_repeat_is_not_already_satisfied():
    satisfied = '{"apis": ["math.sqrt"], "satisfied": true, "reason": "it is there"}'
    run, _, _ = await drive(
        {("propose", "3"): [Retry("2")]}, recommend=lambda r: satisfied if r.subject == "2" else "{}"
    )
    assert ends(run) == [("1", "done"), ("2", "skipped"), ("2", "done"), ("3", "done")]


# ---- choose


HANG = "hang = True"


@pytest.mark.parametrize(
    "moment",
    [("recommend", "2"), ("propose", "2"), ("run", HANG), ("propose", "3"), ("solve", "solution")],
    ids=["recommending", "proposing", "running", "exploring a later one", "solving"],
)
async def test_another_candidate_is_carried_forward(monkeypatch, moment):
    def propose(request):
        return [marking(request)[0], fenced(HANG)] if request.subject == "2" else marking(request)

    run, watch, _ = await drive({moment: [Choose("1.2")]}, monkeypatch=monkeypatch, propose=propose)
    assert watch.cancelled == [moment]
    [choice] = happened(run, "steered")
    assert (choice.what, choice.subtask, choice.candidate) == ("choose", "1", "1.2")
    assert [e.candidate for e in happened(run, "candidate_observed")].count("1.2") == 2
    chosen = [e.selection for e in happened(run, "candidate_selected") if e.selection.candidate == "1.2"]
    assert [selection.reasons for selection in chosen] == [("chosen by the user",)]
    last = [text for id_, text in texts(run).items() if id_.startswith("3")][-1]
    assert last.startswith("['1b', '2")


async def test_a_chosen_candidate_that_fails_is_explored(monkeypatch):
    run, _ = steered({("propose", "2"): [Choose("1.2")]})
    original = InlineBranch.run

    async def flaky(self, code, *, timeout):
        again = self.log.count(code) == 1 and "1b" in code
        return await original(self, "1/0" if again else code, timeout=timeout)

    monkeypatch.setattr(InlineBranch, "run", flaky)
    await run_task(run)
    assert warnings(run) == ["Candidate 1.2 no longer runs: exploring its subtask instead."]
    assert texts(run)["1.3"] == "['1a']"
    assert ends(run) == [("1", "done"), ("1", "done"), ("2", "done"), ("3", "done")]


# ---- plan


def plans(run):
    return [[(s.id, s.title) for s in e.plan.subtasks] for e in happened(run, "plan_made")]


async def test_future_subtasks_are_replanned_at_once():
    run, _, _ = await drive({("propose", "1"): [Replan((" c ", "", "new\nline", "b"))]}, holds=False)
    assert plans(run)[-1] == [("1", "a"), ("3", "c"), ("4", "new line"), ("5", "b")]
    changed = happened(run, "plan_made")[-1]
    assert (changed.plan.revision, changed.reason) == (1, "changed by the user")
    assert [id_ for id_, _ in ends(run)] == ["1", "3", "4", "5"]
    assert kinds_after(run, "replan")[0] == "plan_made"


async def test_the_model_keeps_what_the_user_wrote():
    revising = '{"apis": ["math.sqrt"], "remaining": ["of the model"], "reason": "learned"}'
    run, _, _ = await drive({("recommend", "2"): [Replan(("mine", "mine too"))]}, holds=False, recommend=revising)
    assert plans(run)[-1] == [("1", "a"), ("2", "b"), ("4", "mine"), ("5", "mine too")]


@pytest.mark.parametrize(
    ("titles", "after"),
    [
        (("b", "c"), [("1", "a"), ("2", "b"), ("3", "c")]),
        (("b", "new"), [("1", "a"), ("2", "b"), ("4", "new")]),
        (("a", "b", "c"), [("1", "a"), ("2", "b"), ("3", "c")]),
        (("a", "c"), [("1", "a"), ("2", "b"), ("4", "a"), ("3", "c")]),
    ],
)
async def test_what_begins_during_planning_is_planned_once(titles, after):
    run, _, _ = await drive({("propose", "2"): [Replan(titles)]}, holds=False)
    assert plans(run)[-1] == after


async def test_the_users_plan_is_longer_but_bounded():
    run, _, _ = await drive({("propose", "1"): [Replan(tuple("x" * n for n in range(1, 21)))]}, holds=False, subtasks=3)
    assert warnings(run) == ["A plan can have at most 20 subtasks: nothing was changed."]
    run, _, _ = await drive({("propose", "1"): [Replan(("x", "y", "z"))]}, holds=False, subtasks=3)
    assert len(plans(run)[-1]) == 4


# ---- one after another, too early, too late


@pytest.mark.parametrize(
    ("controls", "ended"),
    [
        ((Retry("1"), Skip("1")), [("1", "done"), ("1", "skipped"), ("2", "done"), ("3", "done")]),
        ((Skip("2"), Retry("2")), [("1", "done"), ("2", "skipped"), ("2", "done"), ("3", "done")]),
        ((Skip("2"), Skip("3")), [("1", "done"), ("2", "skipped"), ("3", "skipped")]),
        ((Choose("1.2"), Retry("1")), [("1", "done"), ("1", "done"), ("2", "done"), ("3", "done")]),
        ((Retry("1"), Choose("1.2")), [("1", "done"), ("1", "done"), ("2", "done"), ("3", "done")]),
        ((Retry("1"), Replan(("z",))), [("1", "done"), ("1", "done"), ("4", "done")]),
    ],
)
async def test_two_controls_one_after_the_other(controls, ended):
    run, watch, ending = await drive({("propose", "2"): controls})
    assert watch.cancelled == [("propose", "2")]
    assert ends(run) == ended
    assert len(happened(run, "steered")) == 2
    assert ending.verdict.outcome == "unchecked"


async def test_nothing_is_steered_while_planning():
    asked = [Skip("1"), Retry("1"), Choose("1.1"), Replan(("x",))]
    run, _, _ = await drive({("plan", ""): asked}, holds=False)
    assert warnings(run) == ["There is no plan yet: nothing was changed."] * 4
    assert happened(run, "steered") == []
    assert len(ends(run)) == 3


def closing(monkeypatch, run, when, turns, *controls):
    """Ask when a branch that ran this code is closed, and let the closing take so many turns of the loop."""
    original, asked = InlineBranch.close, []

    async def close(self):
        if not asked and not self.closed and self.codes and when in self.codes[-1]:
            asked.append(self)
            run.steering.ask(*controls)
        for _ in range(turns):
            await anyio.sleep(0)
        await original(self)

    monkeypatch.setattr(InlineBranch, "close", close)
    return asked


def kinds_between(run, what, until):
    """The kinds of the events between the steering and the next event of another kind."""
    kinds = kinds_after(run, what)
    return set(kinds[: kinds.index(until)])


@pytest.mark.parametrize("turns", range(0, 12, 2))
@pytest.mark.parametrize(("when", "continued"), [("2b", "2.1"), ("solved", "3.1")], ids=["exploring", "solving"])
async def test_a_control_at_the_end_counts(monkeypatch, when, continued, turns):
    run, _ = steered()
    asked = closing(monkeypatch, run, when, turns, Retry("1"))
    await run_task(run)
    assert asked
    if not happened(run, "steered"):
        assert (when, turns) == ("solved", 0), "there was time to take it"
        assert warnings(run) == ["The run has finished: nothing was changed."]
        return
    assert "candidate_selected" not in kinds_between(run, "retry", "subtask_started")
    assert "subtask_finished" not in kinds_between(run, "retry", "subtask_started")
    proposed = [e.candidate.id for e in happened(run, "candidate_proposed")]
    assert {continued, "1.3", "2.3"} <= set(proposed)
    assert texts(run)["2.3"] == "['1a', '2a']"
    assert ends(run)[-3:] == [("1", "done"), ("2", "done"), ("3", "done")]


@pytest.mark.parametrize("late", range(4))
@pytest.mark.parametrize("moment", ["recommend", "run", "solve"])
async def test_an_abandoned_leg_emits_nothing(monkeypatch, moment, late):
    """The control is taken so many turns of the loop after what was waited for has come."""
    satisfied = '{"apis": ["math.sqrt"], "satisfied": true, "remaining": ["revised"]}'
    run, _ = steered(recommend=lambda request: satisfied if (moment, request.subject) == ("recommend", "2") else "{}")
    pending = [Retry("1")]

    async def ask():
        if not pending:
            return
        loop = asyncio.get_running_loop()
        come, control = loop.create_future(), pending.pop()

        def turn(number):
            if number == late:
                run.steering.ask(control)
            if number == 0:
                come.set_result(None)
            if number < late:
                loop.call_soon(turn, number + 1)

        loop.call_soon(turn, 0)
        await come

    original, complete = InlineBranch.run, type(run.model).complete

    async def run_code(self, code, *, timeout):
        observation = await original(self, code, timeout=timeout)
        if (moment == "run" and "3b" in code) or (moment == "solve" and "solved" in code):
            await ask()
        return observation

    async def replies(self, request):
        async for reply in complete(self, request):
            if (moment, "2") == (request.step, request.subject):
                await ask()
            yield reply

    monkeypatch.setattr(InlineBranch, "run", run_code)
    monkeypatch.setattr(type(run.model), "complete", replies)
    ending = await run_task(run)
    assert ending.verdict.outcome == "unchecked"
    if not happened(run, "steered"):
        assert late or moment == "solve", "there was time to take it"
        return
    kinds = kinds_between(run, "retry", "subtask_started")
    assert not kinds & {"candidate_selected", "subtask_finished", "plan_made"}
    assert texts(run)["1.3"] == "['1a']"


# ---- review


def listening(run, react):
    """The run, with something that is done after each of its events."""
    emit = run.emit

    def receive(event):
        emit(event)
        react(event)

    receive.__self__ = emit.__self__
    return replace(run, emit=receive)


def reviewing(*controls, clock=None, **more):
    """A run whose plan is reviewed; the controls are asked once it waits."""
    run, watch = steered(review=True, holds=False, **more)

    def ask(event):
        if event.kind == "review_asked":
            watch.waiting_for = len(controls)
            run.steering.ask(*controls)

    return replace(listening(run, ask), meter=Meter(Budget(), clock=clock) if clock else run.meter)


async def test_a_plan_under_review_waits_and_is_kept():
    run = reviewing(Replan(("b", "first")))
    await run_task(run)
    kinds = [event.kind for event in run.emit.__self__]
    assert (
        kinds.index("plan_made") < kinds.index("review_asked") < kinds.index("steered") < kinds.index("model_called", 9)
    )
    assert plans(run)[-1] == [("1", "b"), ("2", "first")]
    assert [id_ for id_, _ in ends(run)] == ["1", "2"]


async def test_a_reviewed_plan_is_numbered_in_its_order():
    """Issue 14, item 20: after a review the subtasks were numbered 1, 4, 3."""
    run = reviewing(Replan(("a", "changed", "c")))
    await run_task(run)
    assert plans(run)[-1] == [("1", "a"), ("2", "changed"), ("3", "c")]
    assert [id_ for id_, _ in ends(run)] == ["1", "2", "3"]


async def test_earlier_results_move_with_their_subtask():
    """Issue 14, item 20: what refers to a subtask by its number follows the new one."""
    given = ResumePoint(("a", "b"), (CarriedSubtask("kept = 1"),), reviewed=False)
    run = reviewing(Replan(("new", "a", "b")), given=given)
    await run_task(run)
    assert plans(run)[-1] == [("1", "new"), ("2", "a"), ("3", "b")]
    proposed = {event.candidate.id: event.candidate.code for event in happened(run, "candidate_proposed")}
    assert proposed["2.1"] == "kept = 1"


async def test_a_review_does_nothing_else():
    run = reviewing(Skip("1"), Retry("1"), Replan(()), Replan(("a",)))
    await run_task(run)
    waits = "The plan is waiting for your review: accept or edit it first."
    assert warnings(run) == [waits, waits, "A plan needs at least one subtask: nothing was changed."]
    assert ends(run) == [("1", "done")]


async def test_the_time_of_a_review_does_not_count():
    now = [0.0]
    run = reviewing(Replan(("a",)), clock=lambda: now[0])

    def pass_time(event):
        now[0] += 10_000.0 if event.kind == "steered" else 0.0

    ending = await run_task(listening(run, pass_time))
    assert (ending.verdict.outcome, run.meter.elapsed) == ("unchecked", 0.0)


# ---- continuing an earlier run


def mark(name):
    return f"marks = [*globals().get('marks', []), '{name}']\nprint(marks)"


def first_marks(*names):
    return tuple(CarriedSubtask(mark(name)) for name in names)


async def test_earlier_selections_run_without_the_model():
    run, _, _ = await drive(given=ResumePoint(("a", "b", "c"), first_marks("x", "y"), "look at gcd"))
    assert requests(run, "plan") == []
    assert [subject for subject, _ in requests(run, "recommend")] == ["3"]
    assert texts(run)["2.1"] == "['x', 'y']"
    assert texts(run)["3.1"] == "['x', 'y', '3a']"
    reasons = [e.selection.reasons for e in happened(run, "candidate_selected")][:2]
    assert reasons == [("carried over from the earlier run",)] * 2
    [propose] = [e.exchange for e in happened(run, "model_called") if e.exchange.step == "propose"]
    assert "look at gcd" in propose.messages[-1].content
    assert [(e.what, e.subtask, e.hint) for e in happened(run, "steered")] == [("retry", "3", "look at gcd")]
    assert ends(run) == [("1", "done"), ("2", "done"), ("3", "done")]


async def test_a_continued_run_is_not_reviewed_again():
    run, _, _ = await drive(review=True, given=ResumePoint(("a", "b", "c"), first_marks("x")))
    assert happened(run, "review_asked") == []


async def test_what_had_failed_is_tried_once():
    failed = CarriedSubtask("1/0", "failed", "ZeroDivisionError: division by zero", retrieved=("math.gcd", "math.gone"))
    run, _, _ = await drive(given=ResumePoint(("a", "b", "c"), (*first_marks("x"), failed)))
    assert ends(run) == [("1", "done"), ("2", "failed"), ("3", "done")]
    assert [subject for subject, _ in requests(run, "recommend")] == ["3"]
    assert texts(run)["3.1"] == "['x', '3a']"
    assert warnings(run) == []


async def test_earlier_failures_alike_do_not_end_the_run():
    failed = CarriedSubtask("1/0", "failed", "ZeroDivisionError: division by zero")
    run, _ = steered(given=ResumePoint(("a", "b", "c"), (failed, failed)))
    assert (await run_task(run)).verdict.outcome == "unchecked"


async def test_skipped_or_empty_subtasks_stay_so():
    skipped, codeless = (
        CarriedSubtask(status="skipped", reason="by the user"),
        CarriedSubtask(status="failed", reason="no code"),
    )
    run, _, _ = await drive(given=ResumePoint(("a", "b", "c"), (codeless, None, skipped), "look at gcd"))
    assert ends(run) == [("1", "failed"), ("2", "done"), ("3", "skipped")]
    assert [(e.subtask, e.hint) for e in happened(run, "steered")] == [("2", "look at gcd")]


async def test_without_a_plan_one_is_made():
    known = Introduction("It is about numbers.")
    run, _, _ = await drive(given=ResumePoint(introduction=known))
    assert [event.introduction for event in happened(run, "library_read")] == [known]
    assert requests(run, "introduce") == []
    assert requests(run, "plan") == [("", "")]


async def test_a_final_or_user_plan_is_not_revised():
    again = {"recommend": '{"apis": ["math.gcd"], "remaining": ["other"]}'}
    for limits in ({"revisions": 2}, {"fixed": True}):
        run, _, _ = await drive(given=ResumePoint(("a", "b", "c"), first_marks("x"), **limits), **again)
        assert len(happened(run, "plan_made")) == 1


# ---- from other threads


async def test_controls_come_from_any_thread_in_their_order():
    steering = RunSteering()
    steering.send(Skip("1"))
    with anyio.CancelScope() as scope:
        steering.bind(scope)
        assert await steering.next() == Skip("1")

        def ask():
            steering.send(Retry("2", "h"))
            steering.send(Choose("1.1"))
            steering.send(Replan(("a",)))

        thread = threading.Thread(target=ask)
        thread.start()
        got = [await steering.next() for _ in range(3)]
        thread.join()
    assert got == [Retry("2", "h"), Choose("1.1"), Replan(("a",))]


async def test_a_stop_ends_a_review():
    run = reviewing()
    with anyio.CancelScope() as scope:

        def stop(event):
            if event.kind == "review_asked":
                scope.cancel()

        await run_task(listening(run, stop))
    assert happened(run, "run_finished")[-1].verdict.reason == "The run was stopped by the user."
