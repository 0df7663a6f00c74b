"""ExploraCoder as published: its settings and its calls, whatever the user has set."""

import json

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.adaptive import exploracoder, exploracoder_debug
from tests.unit.strategies.replies import RIGHT, WRONG, fenced
from tests.unit.world import a_run, happened

PLAN = ("take the root", "take it again")


def exploring(snippets, solution=RIGHT):
    replies = {
        "plan": json.dumps({"subtasks": PLAN}),
        "recommend": json.dumps({"apis": ["math.sqrt"], "remaining": ["something else"]}),
        "recommend_global": json.dumps({"apis": ["math.sqrt"]}),
        "propose": [fenced(code) for code in snippets],
        "debug": fenced(f"{RIGHT}\nprint(root)"),
        "solve": fenced(solution),
    }
    return ScriptedModel(lambda request: replies[request.step])


async def run_with(strategy, model, **more):
    run = a_run(model, **{"tests": True, "candidates": 1, "temperature": 0.1, "solution_rounds": 3, **more})
    return await run_task(run, strategy), [request.step for request in model.requests], run


async def test_five_candidates_per_subtask_and_one_solution():
    model = exploring([f"import math\nprint(math.sqrt({number}))" for number in range(7)])
    result, steps, run = await run_with(exploracoder, model)
    assert run.meter.total.calls == 3 + 2 * len(PLAN) == len(steps)
    proposed = next(request for request in model.requests if request.step == "propose")
    assert (proposed.sampling.n, proposed.sampling.temperature, proposed.sampling.top_p) == (5, 0.8, 0.95)
    assert not proposed.tools and not proposed.inputs.tests
    assert len(happened(run, "plan_made")) == 1
    assert result.verdict.outcome == "unchecked"


async def test_without_debugging_failures_are_kept():
    result, steps, run = await run_with(exploracoder, exploring([WRONG]))
    assert "debug" not in steps and "explain" not in steps and steps[-1] == "solve"
    assert [event.status for event in happened(run, "subtask_finished")] == ["failed", "failed"]
    assert result.solution.code == RIGHT


async def test_with_debugging_failures_are_repaired_once():
    model = exploring([WRONG, WRONG.replace("introot", "floorroot")])
    _, steps, run = await run_with(exploracoder_debug, model)
    assert steps.count("debug") == 2 * len(PLAN)
    assert "explain" not in steps and not [event for event in happened(run, "knowledge_searched") if event.round]
    assert [event.status for event in happened(run, "subtask_finished")] == ["done", "done"]


async def test_a_solution_that_fails_is_not_repaired():
    result, steps, _ = await run_with(exploracoder, exploring([WRONG], solution=WRONG), check="assert root == 4")
    assert steps.count("solve") == 1 and "repair" not in steps
    assert result.verdict.outcome == "unsolved"
