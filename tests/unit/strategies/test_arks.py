"""ARKS: what is searched by after a failure, what the next program is written with, and when the rounds end."""

from dataclasses import replace

from exploracoder_jupyter.core.configuration.sections import Retrieval
from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import arks
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, prompts
from tests.unit.world import FewPassages, a_run, api, happened

APIS = tuple(api(f"math.f{number}", f"thing{number} of a number") for number in range(20))
PAGE = Passage("documentation", "Roots", "the square root of a number", "roots.md")
OLD = Passage("snippet", "Roots", WRONG, "an earlier run", code=True)
EXPLAINED = "It takes the square root of a number."


def arks_run(*replies, passages=(PAGE,), rounds=2, formulation="explained", **more):
    run = a_run(ScriptedModel(replies), check="assert root == 4", **more)
    retrieval = Retrieval(rounds=rounds, formulation=formulation)
    return replace(run, retrieval=retrieval, sources=FewPassages(*passages))


async def test_the_first_program_needs_only_the_task():
    run = arks_run(fenced(RIGHT))
    result = await run_task(run, arks)
    assert result.verdict.outcome == "solved"
    assert run.meter.total.calls == 1 and run.sources.asked == []
    assert "square root" not in prompts(run.model)[0]


async def test_a_failed_program_is_explained_and_searched():
    run = arks_run(fenced(WRONG), EXPLAINED, fenced(RIGHT))
    result = await run_task(run, arks)
    [event] = happened(run, "knowledge_searched")
    assert (event.subject, event.formulation, event.round) == ("s1", "explained", 1)
    assert event.query.startswith(EXPLAINED)
    repair = prompts(run.model)[2]
    assert "math.sqrt" in repair and "Roots; roots.md" in repair and "AttributeError" in repair
    assert result.verdict.outcome == "solved" and result.solution.candidate == "s2"


async def test_the_rounds_end_when_two_searches_agree():
    wrong = [fenced(f"import math\nmath.root{number}") for number in range(4)]
    run = arks_run(wrong[0], wrong[1], wrong[2], formulation="task", rounds=9, passages=(), apis=APIS[:4])
    result = await run_task(run, arks)
    assert [event.agreed for event in happened(run, "knowledge_searched")] == [False, True]
    assert result.verdict.outcome == "unsolved"
    assert run.meter.total.calls == 2


async def test_the_soup_learns_and_drops_code():
    run = arks_run(fenced(WRONG), EXPLAINED, fenced(RIGHT), passages=(PAGE, OLD))
    await run_task(run, arks)
    assert [snippet.code for snippet in run.sources.learned] == [RIGHT]
    assert OLD not in run.sources.passages
