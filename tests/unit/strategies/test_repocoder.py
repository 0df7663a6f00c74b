"""RepoCoder: by what is retrieved in each round, and which program is the solution."""

from dataclasses import replace

from exploracoder_jupyter.core.configuration.sections import Retrieval
from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.retrieval import repocoder
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, prompts, solved_by
from tests.unit.world import FewPassages, a_run, api, happened

APIS = (api("math.sqrt", "Compute the root of a number"), api("math.isqrt", "needs root = math.introot(16) truncated"))
NOTES = (
    Passage("documentation", "Roots", "Compute the root", "a.md"),
    Passage("documentation", "Truncation", "root = math.introot(16) truncates", "b.md"),
)


async def test_the_second_program_uses_what_the_first_retrieves():
    model = ScriptedModel([fenced(WRONG), fenced(RIGHT)])
    run = replace(a_run(model, apis=APIS, retrieved=1), sources=FewPassages(*NOTES))
    result = await run_task(run, repocoder)
    first, second = prompts(model)
    assert "math.sqrt" in first and "math.isqrt" not in first
    assert "math.isqrt" in second and "math.sqrt" not in second
    assert second.index("Truncation; b.md") < second.index("Roots; a.md")
    searched = [(event.round, event.formulation, event.query) for event in happened(run, "knowledge_searched")]
    assert searched == [(0, "task", run.task.text), (1, "code", WRONG)]
    assert result.solution.code == RIGHT and result.solution.apis == ("math.sqrt",)
    assert result.verdict.outcome == "unchecked"
    assert run.meter.total.calls == 2 and run.meter.total.executions == 0


async def test_the_settings_bound_the_rounds():
    for rounds in (1, 3):
        model = ScriptedModel([fenced(f"root = {number}") for number in range(rounds)])
        run = replace(a_run(model), retrieval=Retrieval(rounds=rounds))
        result = await run_task(run, repocoder)
        assert run.meter.total.calls == rounds
        assert result.solution.code == f"root = {rounds - 1}"


async def test_a_codeless_reply_keeps_the_earlier_program():
    result, _, _ = await solved_by(repocoder, fenced(RIGHT), "No code.")
    assert result.solution.code == RIGHT
    result, shown, _ = await solved_by(repocoder, "No code.", "None again.")
    assert result.verdict.outcome == "unsolved" and result.solution is None
    assert shown[0] == shown[1]
