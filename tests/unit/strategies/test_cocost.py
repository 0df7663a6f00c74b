"""CoCoST: what is searched by the plan, and how errors and outputs refine the program."""

import json
from dataclasses import replace

from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import cocost
from tests.unit.strategies.replies import RIGHT, WRONG, fenced
from tests.unit.world import FewPassages, a_run, happened

ONLINE = Passage("web", "Answer", "python square root explained", "https://answers.example/1")
PLAN = ["take the square root", {"subtask": "round it down to an integer", "search": "python square root"}]
INPUTS = json.dumps({"tests": [{"title": "as it is", "before": "", "after": "root"}]})
JUDGED_WRONG = f"t1: wrong, it is negative\nwrong\n{fenced(RIGHT)}"
JUDGED_RIGHT = "t1: right\nright"


def cocost_run(programs, judgements=(JUDGED_RIGHT,), *, plan=PLAN, sources=(), **more):
    """A run whose model writes these programs, and judges in this order."""
    programs, judgements = iter(programs), iter(judgements)
    replies = {
        "plan": lambda: json.dumps({"subtasks": plan}) if plan else "No plan.",
        "strategy": lambda: next(programs),
        "repair": lambda: next(programs),
        "invent": lambda: INPUTS,
        "judge": lambda: next(judgements),
    }
    run = a_run(ScriptedModel(lambda request: replies[request.step]()), **more)
    return replace(run, sources=FewPassages(*sources)) if sources else run


def asked(run, step):
    return [request.messages[1].content for request in run.model.requests if request.step == step]


async def test_every_planned_step_searches_before_writing():
    run = cocost_run([fenced(RIGHT)])
    result = await run_task(run, cocost)
    assert result.verdict.outcome == "solved"
    queries = [event.query for event in happened(run, "knowledge_searched")]
    assert queries == ["take the square root", "round it down to an integer"]
    [program] = asked(run, "strategy")
    assert "1. take the square root\n2. round it down to an integer" in program
    assert "Return the square root of x." in program and "Return the floor of x" in program
    assert {step: usage.calls for step, usage in run.meter.by_step.items() if usage.calls} == {
        "plan": 1,
        "strategy": 1,
        "invent": 1,
        "judge": 1,
    }


async def test_the_web_is_searched_for_marked_steps():
    run = cocost_run([fenced(RIGHT)], sources=(ONLINE,))
    await run_task(run, cocost)
    assert [query for query, kinds in run.sources.asked if "web" in kinds] == ["python square root"]
    assert "Answer; https://answers.example/1" in asked(run, "strategy")[0]


async def test_an_error_is_searched_by_and_repaired():
    run = cocost_run([fenced(WRONG), fenced(RIGHT)])
    result = await run_task(run, cocost)
    assert result.verdict.outcome == "solved"
    again = happened(run, "knowledge_searched")[-1]
    assert (again.subject, again.formulation) == ("s1", "error")
    assert "introot" in again.query
    assert "AttributeError" in asked(run, "repair")[0]


async def test_a_program_that_ran_is_refined_by_outputs():
    run = cocost_run([fenced("root = -4")], [JUDGED_WRONG, JUDGED_RIGHT])
    result = await run_task(run, cocost)
    assert result.solution.code == RIGHT and result.verdict.outcome == "solved"
    assert "-4" in asked(run, "judge")[0]
    assert [event.judgement.ruling for event in happened(run, "solution_judged")] == ["wrong", "right"]
