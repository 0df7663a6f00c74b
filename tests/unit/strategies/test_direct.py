"""Direct generation: one prompt with the task alone, and nothing is run."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import direct
from tests.unit.strategies.replies import RIGHT, fenced, prompts
from tests.unit.world import InlineBranch, a_run


async def written(*replies, **more):
    model = ScriptedModel(replies)
    run = a_run(model, "Compute the root of 16", strategy="direct", **more)
    run = replace(run, task=replace(run.task, uses=("number",)), root=InlineBranch(["number = 16"]))
    return await run_task(run, direct), prompts(model), run


async def test_one_prompt_has_task_and_variables_only():
    result, [prompt], run = await written(fenced(RIGHT), check="assert root == 4")
    assert "Compute the root of 16" in prompt and "exist before anything else runs: number" in prompt
    assert "math.sqrt" not in prompt and "assert" not in prompt and "APISearch" not in prompt
    assert (run.meter.total.calls, run.meter.total.executions) == (1, 0)
    assert result.solution.code == RIGHT and result.solution.apis == ("math.sqrt",)
    assert result.verdict.outcome == "unchecked" and "'direct' does not run" in result.verdict.reason


@pytest.mark.parametrize(("replies", "calls"), [(["No code.", fenced(RIGHT)], 2), (["None.", "None again."], 2)])
async def test_a_reply_without_code_is_requested_once_more(replies, calls):
    result, shown, _ = await written(*replies)
    assert len(shown) == calls
    assert (result.solution is not None) is (replies[1] == fenced(RIGHT))
    assert result.verdict.outcome == ("unchecked" if result.solution else "unsolved")
