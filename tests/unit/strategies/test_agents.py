"""ReAct and KnowAgent: what each step does, what the next prompt shows of it, and how the steps end."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.agents import KNOWAGENT_RULES, knowagent, react
from tests.unit.strategies.replies import RIGHT, fenced, prompts, solved_by
from tests.unit.world import a_run, happened

SEARCH = "Thought: How is a root taken?\nAction: search: square root"
LOOK_UP = "Thought: What does it take?\nAction: look_up: math.sqrt"
RUN = "Thought: Try it.\nAction: run\n" + fenced("import math\nroot = math.sqrt(16)\nprint('it is', root)")
FAIL = "Thought: Try another.\nAction: run\n" + fenced("left = 1\nmath.introot(16)")
FINISH = "Thought: That is it.\nAction: finish"
PROGRAM = fenced(RIGHT)


@pytest.mark.parametrize("strategy", [react, knowagent])
async def test_steps_lead_to_a_program_that_is_checked(strategy):
    result, shown, run = await solved_by(strategy, SEARCH, LOOK_UP, RUN, FINISH, PROGRAM)
    assert result.verdict.outcome == "solved"
    assert result.solution.code == RIGHT
    assert "Return the square root of x." in shown[1] and "Action: search: square root" in shown[1]
    assert "math.sqrt(x)" in shown[2]
    assert "it is 4.0" in shown[3] and "it is 4.0" not in shown[2]
    assert "it is 4.0" in shown[4]
    assert [event.tool for event in happened(run, "looked_up")] == ["search_api", "get_signature"]


async def test_session_cells_build_and_failed_ones_leave_nothing():
    use = "Action: run\n" + fenced("print(root + 1, 'left' in globals())")
    _, shown, run = await solved_by(react, RUN, FAIL, use, FINISH, PROGRAM)
    assert "AttributeError" in shown[2]
    assert "5.0 False" in shown[3]
    proposed = [event.candidate for event in happened(run, "candidate_proposed")]
    assert [(one.id, one.parent) for one in proposed] == [("1.1", ""), ("2.1", "1.1"), ("3.1", "1.1"), ("s1", "")]
    assert [event.status for event in happened(run, "subtask_finished")] == ["done", "failed", "done"]
    assert not run.root.closed


@pytest.mark.parametrize("malformed", ["", "No idea.", "Action: dance", "Action: run\nno code"])
async def test_a_malformed_action_costs_its_step(malformed):
    result, shown, run = await solved_by(react, malformed, RUN, FINISH, PROGRAM)
    assert "It was not carried out." in shown[1]
    assert result.verdict.outcome == "solved"
    assert run.meter.total.calls == 4


async def test_after_the_last_step_the_program_is_requested():
    _, shown, run = await solved_by(react, *[SEARCH] * 8, PROGRAM)
    assert run.meter.total.calls == len(shown) == 9
    _, shown, run = await solved_by(react, SEARCH, SEARCH, PROGRAM, subtasks=2)
    assert run.meter.total.calls == 3


async def test_knowagent_refuses_what_may_not_follow():
    result, shown, run = await solved_by(knowagent, RUN, FINISH, SEARCH, FINISH, RUN, FINISH, PROGRAM)
    assert "After start only these actions are possible: search, look_up." in shown[1]
    assert len(happened(run, "candidate_observed")) == 1 + 1
    assert "After search only" in shown[4]
    assert result.verdict.outcome == "solved"


async def test_the_prompt_of_knowagent_states_the_rules():
    _, shown, _ = await solved_by(knowagent, SEARCH, RUN, FINISH, PROGRAM)
    for before, after in KNOWAGENT_RULES.items():
        assert f"- {before}: {', '.join(after)}\n" in shown[0]


async def test_results_are_shown_as_far_as_shared():
    for sharing, visible in (("values", True), ("none", False)):
        model = ScriptedModel([RUN, FINISH, PROGRAM])
        await run_task(replace(a_run(model), sharing=sharing), react)
        assert any("it is 4.0" in text for text in prompts(model)) is visible
