"""Naive retrieval without and with self-repair: what is in the prompts, what is run, when it ends."""

from dataclasses import replace

from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import rag, rag_repair
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, prompts, solved_by
from tests.unit.world import FewPassages, a_run, happened

NOTE = Passage("documentation", "Roots", "The root of a number is computed by sqrt", "a.md")


async def test_one_prompt_has_the_best_documentation():
    model = ScriptedModel([fenced(RIGHT)])
    run = replace(a_run(model, retrieved=2, check="assert root == 4"), sources=FewPassages(NOTE))
    result = await run_task(run, rag)
    [prompt] = prompts(model)
    assert "math.sqrt" in prompt and "math.gcd" not in prompt and "Roots; a.md" in prompt
    assert "assert" not in prompt and "APISearch" not in prompt and "exploration" not in prompt
    [searched] = happened(run, "knowledge_searched")
    assert (searched.subject, searched.query, len(searched.apis)) == ("solution", run.task.text, 2)
    assert (run.meter.total.calls, run.meter.total.executions) == (1, 0)
    assert result.verdict.outcome == "unchecked" and result.solution.code == RIGHT


async def test_a_failed_program_keeps_the_same_documentation():
    result, [_, repair], run = await solved_by(rag_repair, fenced(WRONG), fenced(RIGHT))
    assert "has no attribute 'introot'" in repair and WRONG in repair and "math.sqrt" in repair
    assert "assert root == 4" not in repair
    assert result.verdict.outcome == "solved" and result.solution.candidate == "s2"
    assert run.meter.total.calls == 2
    assert len(happened(run, "knowledge_searched")) == 1


async def test_there_are_three_repairs_at_most():
    replies = [fenced(f"root = {number} / 0") for number in range(9)]
    result, shown, _ = await solved_by(rag_repair, *replies, solution_rounds=9)
    assert len(shown) == 4
    assert result.verdict.outcome == "unsolved" and result.solution is None
