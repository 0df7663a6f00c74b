"""Resuming from every moment at which a run can be interrupted: what was answered is not asked again."""

import random
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from exploracoder_jupyter.core.configuration.sections import Retrieval
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    Notice,
    Record,
    ReviewAsked,
    RunFinished,
    Steered,
    dump,
)
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.core.types import Sampling, Usage, Verdict
from exploracoder_jupyter.llm.recorded import PartialReplayModel, ReplayModel
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import ResumePoint, run_task
from exploracoder_jupyter.pipeline.prompting.requests import strip_lookup_offer
from exploracoder_jupyter.pipeline.task_run import explore
from exploracoder_jupyter.protocol.messages import Choose
from exploracoder_jupyter.runs import prepare_replay
from exploracoder_jupyter.runs.replay import SAME_COURSE, SAME_COURSES, SAME_UNTIL_CUT_OFF, compare_course
from exploracoder_jupyter.runs.resume import recorded_exchanges, recorded_progress, resume_state, with_hint
from exploracoder_jupyter.strategies.adaptive import adaptive
from exploracoder_jupyter.trace import load, render
from tests.unit.factories import RUN_ID, recorded, started
from tests.unit.pipeline.test_correctness_testing import INPUTS, NAIVE, RIGHT, SOUND, WRONG
from tests.unit.pipeline.test_steering import Hand, texts
from tests.unit.pipeline.test_task_run import answers, fenced
from tests.unit.sampling import sampled
from tests.unit.world import FewPassages, InlineBranch, a_run, happened

PLAN = ("first", "second", "third")


def writing(request):
    """Two candidates, which leave a mark behind those of the subtasks before; of the second subtask all fail."""
    if request.subject == "2":
        return [fenced("1/0"), fenced("nothing_of_this_name")]
    return [fenced(f"marks = [*globals().get('marks', []), '{request.subject}{c}']\nprint(marks)") for c in "ab"]


def script(**more):
    steps = {"plan": PLAN, "propose": writing, "debug": fenced("1/0"), "solve": fenced("1/0"), **more}
    return answers(**{"repair": fenced("print('solved')"), **steps})._script


async def gone(model, *, given=None, first=None, lookups=3, **more):
    """A run to its end, and its records, which begin with `first`."""
    run = replace(a_run(model, candidates=2, debug_rounds=1, **more), given=given, sources=FewPassages())
    run = replace(run, retrieval=Retrieval(lookups=lookups, formulation="explained"))
    ending = await run_task(run)
    return run, recorded([first or started(), *run.emit.__self__]), ending


@pytest.fixture
async def whole():
    """The records of a run to its end."""
    return (await gone(ScriptedModel(script())))[1]


def asked(records):
    """What was asked of the model and answered."""
    return [(one.step, one.messages, one.sampling) for one in recorded_exchanges(records) if one.replies]


@pytest.mark.parametrize("strategy", [explore, adaptive])
async def test_a_cut_off_default_run_asks_nothing_again(strategy):
    def author():
        programs = {"strategy": fenced("1/0\n# --- demonstration ---\nprint(1)")}
        return ScriptedModel(script(**programs))

    async def gone_by_default(model, given=None):
        run = replace(
            a_run(model, candidates=2, debug_rounds=1, as_published=False), given=given, sources=FewPassages()
        )
        ending = await run_task(run, strategy)
        return recorded([started(), *run.emit.__self__]), ending

    whole, ending = await gone_by_default(author())
    assert ending.verdict.outcome == "unchecked"
    for end in sampled(range(1, len(whole))):
        before, inner = whole[:end], author()
        begin = recorded_progress(before, fold_all(before))
        _, ended = await gone_by_default(PartialReplayModel(inner, recorded_exchanges(before)), begin)
        repeated = {(one.step, one.messages, one.sampling) for one in inner.requests} & set(asked(before))
        assert not repeated, f"cut off after {before[-1].event}"
        assert ended == ending
        assert len(inner.requests) == len(asked(whole)) - len(asked(before)), f"cut off after {before[-1].event}"


async def test_solution_testing_interrupted_anywhere_resumes():
    def judged(request):
        return RIGHT if "isqrt" in request.messages[-1].content else f"{WRONG}\n{fenced(SOUND)}"

    def author():
        return ScriptedModel(answers(solve=NAIVE, invent=INPUTS, judge=judged)._script)

    wanted = {"text": "Take the whole root", "name": "root", "tests": True}
    _, whole, ending = await gone(author(), **wanted)
    assert (ending.verdict.outcome, ending.solution.candidate) == ("solved", "s2")
    for end in sampled(range(1, len(whole))):
        before, inner = whole[:end], author()
        begin = recorded_progress(before, fold_all(before))
        _, _, ended = await gone(PartialReplayModel(inner, recorded_exchanges(before)), given=begin, **wanted)
        repeated = {(one.step, one.messages, one.sampling) for one in inner.requests} & set(asked(before))
        assert not repeated, f"cut off after {before[-1].event}"
        assert ended == ending


async def test_a_steered_run_interrupted_anywhere_resumes():
    hand = Hand()

    def steering(request):
        if request.step == "propose" and request.subject == "3" and not hand.came.is_set():
            hand.ask(Choose("1.2"))
        return script()(request)

    run = replace(a_run(ScriptedModel(steering), candidates=2, debug_rounds=1), steering=hand, steerable=True)
    ending = await run_task(replace(run, sources=FewPassages()))
    whole = recorded([started(), *run.emit.__self__])
    chosen = next(place for place, one in enumerate(whole) if one.event.kind == "steered")
    for end in sampled(range(chosen + 1, len(whole))):
        before, inner = whole[:end], ScriptedModel(script())
        begin = recorded_progress(before, fold_all(before))
        again, _, ended = await gone(PartialReplayModel(inner, recorded_exchanges(before)), given=begin)
        assert ended == ending, f"cut off after {before[-1].event}"
        assert texts(again)["1.1"] == "['1b']"
        known = {(one.step, one.messages) for one in recorded_exchanges(whole[chosen:end])}
        assert not known & {(one.step, one.messages) for one in inner.requests}


async def test_other_words_or_models_are_asked(whole):
    other = ScriptedModel(script(), name="other")
    await gone(PartialReplayModel(other, recorded_exchanges(whole)))
    assert len(other.requests) == len(asked(whole))
    few = ScriptedModel(script())
    run = a_run(
        PartialReplayModel(few, recorded_exchanges(whole)), "Compute another root", candidates=2, debug_rounds=1
    )
    await run_task(run)
    assert "plan" in [one.step for one in few.requests]


@pytest.mark.parametrize(("then", "now"), [(1, 3), (3, 1), (0, 2), (2, 0)])
async def test_changed_lookup_limits_ask_nothing_again(then, now):
    _, whole, _ = await gone(ScriptedModel(script()), lookups=then)
    inner = ScriptedModel(script())
    run, _, _ = await gone(PartialReplayModel(inner, recorded_exchanges(whole), clean=strip_lookup_offer), lookups=now)
    assert inner.requests == []
    [prompt] = [e.exchange.messages[-1].content for e in happened(run, "model_called") if e.exchange.step == "solve"]
    assert (f"{now} times at most" in prompt) == (now > 0)


async def test_what_was_cut_short_is_asked_again(whole):
    cut = [replace(one, problem="interrupted") if one.step == "plan" else one for one in recorded_exchanges(whole)]
    inner = ScriptedModel(script())
    await gone(PartialReplayModel(inner, cut))
    assert [one.step for one in inner.requests] == ["plan"]


def without_secret(message):
    return replace(message, content=message.content.replace("secret", "[redacted]"))


async def test_secrets_do_not_hide_a_known_request():
    _, whole, _ = await gone(ScriptedModel(script()), text="Use the secret")
    clean = [replace(one, messages=tuple(map(without_secret, one.messages))) for one in recorded_exchanges(whole)]
    inner = ScriptedModel(script())
    model = PartialReplayModel(inner, clean, clean=lambda text: text.replace("secret", "[redacted]"))
    await gone(model, text="Use the secret")
    assert inner.requests == []


# ---- branching off


async def branched(cell, **more):
    _, whole, _ = await gone(ScriptedModel(script()))
    begin = with_hint(recorded_progress(whole, fold_all(whole), cell=cell), more.get("hint", ""))
    return (await gone(ScriptedModel(script()), given=begin))[0]


async def test_another_candidate_is_carried_and_explored_after():
    run = await branched("1.2")
    assert texts(run)["1.1"] == "['1b']"
    assert happened(run, "candidate_selected")[0].selection.reasons == ("chosen by the user",)
    assert texts(run)["3.1"] == "['1b', '3a']"
    assert [e.exchange.subject for e in happened(run, "model_called") if e.exchange.step == "recommend"] == ["2", "3"]


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("9", "There is no cell '9' in that run. Use one of: 1, 1.1, 1.2, 2, 3, 3.1, 3.2, solution."),
        ("2.1", "Candidate 2.1 did not run to its end. Use one of: 1, 1.1, 1.2, 2, 3, 3.1, 3.2, solution."),
        ("s1", "s1 is a solution, and a run cannot continue from it. Use --from solution to write a new solution."),
    ],
)
async def test_an_impossible_cell_is_reported_with_possible_ones(cell, sentence, whole):
    with pytest.raises(UsageError) as caught:
        recorded_progress(whole, fold_all(whole), cell=cell)
    assert str(caught.value) == sentence


# ---- replay


async def test_a_replay_takes_the_same_course(whole):
    _, again, _ = await gone(ReplayModel(recorded_exchanges(whole)))
    assert compare_course(fold_all(again), fold_all(whole)) == SAME_COURSE


@pytest.mark.parametrize("cell", ["", "1.2", "3", "solution"])
async def test_a_continued_run_replays_alone(tmp_path, cell, whole):
    before = whole if cell else whole[: len(whole) // 2]
    hint = "look at gcd" if cell == "3" else ""
    begin = with_hint(recorded_progress(before, fold_all(before), cell=cell), hint)
    _, after, _ = await gone(ScriptedModel(script()), given=begin, first=started(resumes_hint=hint))
    nbformat.write(render(after), tmp_path / "t.ipynb")
    shown = prepare_replay(tmp_path / "t.ipynb", tmp_path / "again.ipynb").order
    _, again, _ = await gone(shown.recording.model, given=shown.given)
    assert compare_course(fold_all(again), fold_all(after)) in SAME_COURSES
    assert steps(again) == steps(after)


def steps(records):
    return [(one.step, one.subject, one.replies) for one in recorded_exchanges(records)]


async def test_candidates_keep_their_numbers_in_any_order():
    class LastFirst(ScriptedModel):
        async def complete(self, request):
            for reply in [reply async for reply in super().complete(request)][::-1]:
                yield reply

    _, whole, _ = await gone(LastFirst(script()))
    _, again, _ = await gone(ReplayModel(recorded_exchanges(whole)))
    codes = [code_by_id(whole), code_by_id(again)]
    assert codes[0] == codes[1]
    assert "1b" in codes[0]["1.1"]


def code_by_id(records):
    proposed = [one.event.candidate for one in records if one.event.kind == "candidate_proposed"]
    return {candidate.id: candidate.code for candidate in proposed}


async def test_where_a_replay_diverges_is_reported(monkeypatch, whole):
    original = InlineBranch.run

    async def changed(self, code, *, timeout):
        return await original(self, code.replace("print(marks)", "raise KeyError(1)"), timeout=timeout)

    monkeypatch.setattr(InlineBranch, "run", changed)
    _, again, _ = await gone(ReplayModel([*recorded_exchanges(whole), *debugged(whole)]))
    difference = compare_course(fold_all(again), fold_all(whole))
    assert difference == (
        "It took another course at subtask 1: candidate 1.1 ended with KeyError, not ok."
        " It ended unchecked, as the recorded run did."
    )
    assert compare_course(fold_all(whole), fold_all(whole[:20])) == SAME_UNTIL_CUT_OFF
    stopped = Record(len(whole), 0.0, RunFinished(Verdict("stopped", "The user stopped it."), None, Usage()))
    assert compare_course(fold_all(whole), fold_all([*whole[:20], stopped])) == SAME_UNTIL_CUT_OFF
    assert compare_course(fold_all([*whole[:-1], stopped]), fold_all(whole)).endswith(
        "at its end. It ended stopped, not unchecked."
    )
    assert "the plan is different" in compare_course(fold_all(whole[:3]), fold_all(whole))


def debugged(records):
    """Replies for more repairs than were recorded."""
    [one, *_] = [one for one in recorded_exchanges(records) if one.step == "debug"]
    return [replace(one, subject="", sampling=Sampling())] * 20


async def test_a_plan_is_not_needed_to_resume():
    notice = recorded([started(), Notice("It was cut off here.")])
    begin = with_hint(recorded_progress(notice, fold_all(notice)), " try sqrt ")
    assert begin == ResumePoint(hint="try sqrt")
    run, _, _ = await gone(ScriptedModel(script()), given=begin)
    [propose, *_] = [e.exchange for e in happened(run, "model_called") if e.exchange.step == "propose"]
    assert "try sqrt" in propose.messages[-1].content
    assert [(e.what, e.subtask, e.hint) for e in happened(run, "steered")] == [("retry", "1", "try sqrt")]


async def test_a_hint_without_remaining_work_is_refused(whole):
    with pytest.raises(UsageError, match="No subtask is left to explore, so the hint cannot be used"):
        resume_state(whole, fold_all(whole), Path("t.ipynb"), cell="solution", hint="use sqrt")


async def test_what_the_user_wants_again_is_asked_again(tmp_path, whole):
    end = next(place for place, one in enumerate(whole) if one.event.kind == "subtask_finished") + 1
    before = [*whole[:end], Record(end, whole[end].at, Steered("retry", "1"))]
    begin, known = resume_state(before, fold_all(before), tmp_path / "t.ipynb")
    inner = ScriptedModel(script())
    await gone(PartialReplayModel(inner, known), given=begin)
    assert [one.step for one in inner.requests][:2] == ["recommend", "propose"]
    assert inner.requests[0].subject == "1"


async def test_a_plan_under_review_waits_again(whole):
    end = next(place for place, one in enumerate(whole) if one.event.kind == "plan_made") + 1
    before = [*whole[:end], Record(end, whole[end].at, ReviewAsked())]
    assert not recorded_progress(before, fold_all(before)).reviewed
    assert recorded_progress(whole[:end], fold_all(whole[:end])).reviewed


# ---- journals, and runs that resume resumed runs


def journalled(records, path):
    path.write_bytes(b"".join(f"{dump(one)}\n".encode() for one in records))
    return path.read_bytes()


async def test_a_journal_torn_anywhere_can_be_resumed(tmp_path):
    _, whole, ending = await gone(ScriptedModel(script()))
    journal = tmp_path / "t.journal.jsonl"
    content = journalled(whole, journal)
    first = content.index(b"\n") + 1
    chance = random.Random(1)
    for cut in sampled(sorted(chance.randrange(first, len(content)) for _ in range(40))):
        journal.write_bytes(content[:cut])
        before = load(journal)
        begin, known = resume_state(before, fold_all(before), journal)
        inner = ScriptedModel(script())
        _, _, ended = await gone(PartialReplayModel(inner, known), given=begin)
        again = {(one.step, one.messages, one.sampling) for one in inner.requests} & set(asked(before))
        assert not again, f"cut off after {cut} bytes"
        assert ended == ending


async def test_a_takeover_cut_off_loses_nothing(tmp_path):
    """Wherever the second run was cut off, the third asks nothing that either of them was answered."""
    _, whole, ending = await gone(ScriptedModel(script()))
    proposed = [one.event.kind == "model_called" and one.event.exchange.subject == "3" for one in whole]
    before = whole[: len(whole) - proposed[::-1].index(True)]
    assert before[-1].event.exchange.step == "propose"
    journalled(before, tmp_path / "t.journal.jsonl")
    begin, known = resume_state(before, fold_all(before), tmp_path / "t.ipynb")
    first = replace(started(), run_id="11111111", resumes=RUN_ID, resumes_trace="t.ipynb")
    _, after, _ = await gone(PartialReplayModel(ScriptedModel(script()), known), given=begin, first=first)
    for cut in sampled(range(1, len(after))):
        second = after[:cut]
        begin, known = resume_state(second, fold_all(second), tmp_path / "t-resumed.ipynb")
        inner = ScriptedModel(script())
        _, _, ended = await gone(PartialReplayModel(inner, known), given=begin)
        again = {(one.step, one.messages, one.sampling) for one in inner.requests}
        assert not again & {*asked(before), *asked(second)}, f"cut off after {second[-1].event}"
        assert ended == ending
