"""The default effort: when a whole program suffices, when the run explores, and what exploring takes from before."""

import json
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.protocol.run_controls import Explore, Replan
from exploracoder_jupyter.strategies.adaptive import adaptive
from tests.unit.pipeline.test_steering import Hand, listening
from tests.unit.strategies.replies import fenced
from tests.unit.world import a_run, happened

GOOD = "import math\nroot = math.sqrt(16)\nprint(root)"
BROKEN = "import math\nroot = math.introot(16)"
STATED = "Write a function `root(x)`. Example: `root(16)` -> `4.0`"
FUNCTION = "import math\ndef root(x):\n    return math.sqrt(x)"


def plan(*titles):
    return json.dumps({"subtasks": list(titles)})


def steps(**replies):
    """A model that answers each kind of request by a text, or by a list of texts, one after another."""
    waiting = {step: list(texts) if isinstance(texts, list) else texts for step, texts in replies.items()}

    def reply(request):
        texts = waiting[request.step]
        return texts if isinstance(texts, str) else texts.pop(0)

    return ScriptedModel(reply)


async def solved(model, text="Compute the root of 16", **more):
    run = a_run(model, text, as_published=False, **more)
    return await run_task(run, adaptive), run


def asked(run):
    return [event.exchange.step for event in happened(run, "model_called")]


def efforts(run):
    return [event.effort for event in happened(run, "effort_chosen")]


async def test_a_program_that_passes_the_check_costs_one_call():
    result, run = await solved(steps(solve=fenced(GOOD)), check="assert root == 4")
    assert result.verdict.outcome == "solved" and result.solution.code == GOOD
    assert asked(run) == ["solve"] and efforts(run) == ["direct"]
    assert not happened(run, "plan_made")


async def test_the_example_that_the_task_states_is_a_check():
    result, run = await solved(steps(solve=fenced(FUNCTION)), STATED)
    assert result.verdict.outcome == "solved" and "states" in result.verdict.reason
    assert asked(run) == ["solve"]


async def test_a_program_that_merely_ran_is_looked_at_when_planning_and_may_leave_nothing_open():
    result, run = await solved(steps(strategy=fenced(GOOD), plan=plan()))
    assert result.verdict.outcome == "unchecked" and result.solution.code == GOOD
    assert asked(run) == ["strategy", "plan"] and efforts(run) == ["direct", "explore"]
    prompt = happened(run, "model_called")[1].exchange.messages[1].content
    assert GOOD in prompt and "4.0" in prompt
    assert happened(run, "candidate_selected")[-1].selection.candidate == "s1"


async def test_an_empty_plan_is_asked_for_again_where_no_program_ran():
    model = steps(
        solve=fenced(BROKEN), repair=fenced(BROKEN), plan=[plan(), plan("take the root")], propose=fenced(GOOD)
    )
    _, run = await solved(model, check="assert root == 4")
    assert [event.plan.subtasks[0].title for event in happened(run, "plan_made")] == ["take the root"]


async def test_exploring_starts_from_what_was_tried_and_found():
    programs = [fenced(f"import math\nroot = math.introot({number})") for number in range(3)]
    model = steps(
        solve=fenced(BROKEN),
        repair=[*programs, fenced(GOOD)],
        plan=plan("take the root"),
        propose=fenced(GOOD),
    )
    result, run = await solved(model, check="assert root == 4")
    assert result.verdict.outcome == "solved" and result.solution.candidate == "s5"
    assert asked(run) == ["solve", "repair", "repair", "repair", "plan", "propose", "repair"]
    planning, _, last = (event.exchange.messages[1].content for event in happened(run, "model_called")[-3:])
    assert "introot" in planning and "math.sqrt" in planning
    assert "introot" in last and "print(root)" in last


async def test_without_values_a_program_that_ran_cannot_be_judged_so_the_plan_is_not_empty():
    model = steps(
        strategy=fenced(GOOD), plan=[plan(), plan("take the root")], propose=fenced(GOOD), repair=fenced(GOOD)
    )
    run = replace(a_run(model, as_published=False), sharing="schema")
    await run_task(run, adaptive)
    assert len(happened(run, "plan_made")) == 1


@pytest.mark.parametrize("more", [{"review": True}, {"name": OFFLINE}])
async def test_nothing_is_tried_first_where_that_is_impossible_or_unwanted(more):
    reply = {
        "plan": plan("take the root"),
        "recommend": "{}",
        "recommend_global": "{}",
        "propose": fenced(GOOD),
        "solve": fenced(GOOD),
    }
    model = ScriptedModel(lambda request: reply[request.step], more.pop("name", "scripted"))
    run = replace(a_run(model, as_published=False, **more), steerable=True, steering=Hand())

    def accept(event):
        if event.kind == "review_asked":
            run.steering.ask(Replan(("take the root",)))

    await run_task(listening(run, accept), adaptive)
    assert efforts(run) == ["explore"] and asked(run)[0] == "plan"


async def test_the_user_may_explore_anyway():
    hand = Hand()

    class Slow(ScriptedModel):
        async def complete(self, request):
            if request.step == "strategy":
                hand.ask(Explore())
                await anyio.sleep_forever()
            async for reply in super().complete(request):
                yield reply

    reply = {"plan": plan("take the root"), "propose": fenced(GOOD), "solve": fenced(GOOD)}
    run = replace(a_run(Slow(lambda request: reply[request.step]), as_published=False), steering=hand)
    result = await run_task(run, adaptive)
    assert efforts(run) == ["direct", "explore"] and result.solution.code == GOOD
    assert asked(run) == ["strategy", "plan", "propose", "solve"]


async def explored(model, **more):
    run = a_run(model, as_published=False, **{"candidates": 5, **more})
    return await run_task(run), run


async def test_exploring_asks_once_per_subtask_and_proposes_two_candidates():
    model = steps(plan=plan("a", "b"), propose=fenced(GOOD), solve=fenced(GOOD))
    _, run = await explored(model)
    assert asked(run) == ["plan", "propose", "propose", "solve"]
    assert [event.exchange.sampling.n for event in happened(run, "model_called")][1:3] == [2, 2]


async def test_more_candidates_are_proposed_where_the_first_ones_and_their_repairs_failed():
    model = steps(
        plan=plan("a"),
        propose=[[fenced(BROKEN)], [fenced(GOOD)]],
        debug=fenced(BROKEN + "  # again"),
        solve=fenced(GOOD),
    )
    _, run = await explored(model, debug_rounds=1)
    counts = [event.exchange.sampling.n for event in happened(run, "model_called") if event.exchange.step == "propose"]
    assert counts == [2, 3]
    assert [event.status for event in happened(run, "subtask_finished")] == ["done"]


async def test_a_subtask_whose_result_is_shown_already_is_skipped_by_one_word():
    model = steps(plan=plan("a", "b"), propose=[[fenced(GOOD)], ["done", "done"]], solve=fenced(GOOD))
    _, run = await explored(model)
    assert [event.status for event in happened(run, "subtask_finished")] == ["done", "skipped"]


async def test_after_a_failed_subtask_the_plan_may_change():
    recommend = json.dumps({"apis": ["math.sqrt"], "reason": "a is impossible", "remaining": ["c"]})
    model = steps(
        plan=plan("a", "b", "d"),
        propose=[[fenced(BROKEN)], [fenced(GOOD)], [fenced(GOOD)]],
        recommend=recommend,
        recommend_global="{}",
        solve=fenced(GOOD),
    )
    _, run = await explored(model, candidates=2, debug_rounds=0)
    assert [subtask.title for subtask in happened(run, "plan_made")[-1].plan.subtasks] == ["a", "b", "c"]


async def test_an_example_that_holds_without_the_solution_proves_nothing():
    result, _ = await solved(steps(strategy=fenced(GOOD), plan=plan()), "Sort by length: `len('abc')` is 3")
    assert result.verdict.outcome == "unchecked"


@pytest.mark.parametrize("reply", [fenced(GOOD), "unchanged"])
async def test_a_program_that_ran_is_kept_if_the_model_leaves_it_as_it_is_after_exploring(reply):
    model = steps(strategy=fenced(GOOD), plan=plan("take the root"), propose=fenced("print(2)"), repair=reply)
    result, run = await solved(model)
    assert result.verdict.outcome == "unchecked" and result.solution.code == GOOD
    first = happened(run, "model_called")[2].exchange
    assert first.step == "propose" and GOOD in first.messages[1].content


async def test_a_program_that_ran_is_kept_if_exploring_stops():
    model = steps(strategy=fenced(GOOD), plan=plan("a", "b"), propose=fenced("raise ValueError('closed')"),
                  debug=fenced("raise ValueError('closed')"), recommend="{}")  # fmt: skip
    result, _ = await solved(model, debug_rounds=0)
    assert result.verdict.outcome == "stopped" and result.solution.code == GOOD
