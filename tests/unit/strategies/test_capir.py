"""CAPIR and EpiGen: what is planned and retrieved, what the one prompt contains, and how many calls are made."""

import json

import pytest

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import capir, capir_repair, epigen
from tests.unit.strategies.replies import RIGHT, WRONG, fenced
from tests.unit.world import a_run

PLAN = ("take the square root", "find the largest integer not above it")


def model_writing(*programs):
    """A model that plans two subtasks, finds one API for each, and writes these programs in turn."""
    written = iter(programs)
    fixed = {
        "plan": json.dumps({"subtasks": PLAN}),
        "recommend_global": json.dumps({"apis": ["math.floor", "math.sqrt"]}),
    }

    def reply(request):
        if request.step == "recommend":
            return json.dumps({"apis": ["math.sqrt" if request.subject == "1" else "math.floor"]})
        return fixed.get(request.step) or fenced(next(written))

    return ScriptedModel(reply)


async def run_with(strategy, *programs, **more):
    model = model_writing(*programs)
    run = a_run(model, **more)
    return await run_task(run, strategy), model.requests, run


@pytest.mark.parametrize("strategy", [capir, epigen])
async def test_three_and_n_calls_run_nothing(strategy):
    result, requests, run = await run_with(strategy, RIGHT)
    assert [request.step for request in requests][:-1] == ["plan", "recommend", "recommend", "recommend_global"]
    assert run.meter.total.calls == 3 + len(PLAN) and run.meter.total.executions == 0
    prompt = requests[-1].messages[1].content
    assert "math.sqrt" in prompt and "math.floor" in prompt and "math.gcd" not in prompt
    assert result.verdict.outcome == "unchecked" and result.solution.code == RIGHT


@pytest.mark.parametrize(("strategy", "planned"), [(capir, False), (epigen, True)])
async def test_only_epigen_writes_along_the_subtasks(strategy, planned):
    _, requests, _ = await run_with(strategy, RIGHT)
    assert all((title in requests[-1].messages[1].content) is planned for title in PLAN)


async def test_a_failed_program_is_repaired_with_findings():
    result, requests, run = await run_with(capir_repair, WRONG, RIGHT, check="assert root == 4")
    assert run.meter.total.calls == 3 + len(PLAN) + 1
    repair = requests[-1].messages[1].content
    assert "introot" in repair and "math.floor" in repair
    assert result.verdict.outcome == "solved"
