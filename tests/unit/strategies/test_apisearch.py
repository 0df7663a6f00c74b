"""APISearch: what is answered while the program is written, and how often."""

from exploracoder_jupyter.core.configuration.budget_settings import Budget
from exploracoder_jupyter.core.types import Call
from exploracoder_jupyter.strategies.apisearch import apisearch
from tests.unit.strategies.replies import RIGHT, fenced, solved_by
from tests.unit.world import happened

ASK = "I need a root.\nAPISearch(square root)"


async def test_nothing_is_retrieved_until_the_model_searches_and_is_answered():
    result, shown, run = await solved_by(apisearch, ASK, fenced(RIGHT))
    assert "APISearch(" in shown[0] and "Return the square root of x." not in shown[0]
    assert "Return the square root of x." in shown[1]
    assert happened(run, "knowledge_searched") == []
    assert [(event.subject, event.argument) for event in happened(run, "looked_up")] == [("solution", "square root")]
    assert result.solution.code == RIGHT and result.solution.apis == ("math.sqrt",)
    assert run.meter.total.executions == 0


async def test_tools_of_the_endpoint_are_answered_too():
    result, shown, _ = await solved_by(apisearch, Call("get_signature", "math.sqrt", "c1"), fenced(RIGHT))
    assert "math.sqrt(x)" in shown[1]
    assert result.solution.code == RIGHT


async def test_after_three_searches_without_code_it_ends():
    searches = [f"APISearch(root {number})" for number in range(9)]
    result, _, run = await solved_by(apisearch, *searches)
    assert len(happened(run, "looked_up")) == 3
    assert run.meter.total.calls <= 3 + 2
    assert result.verdict.outcome == "unsolved" and result.solution is None
    result, _, run = await solved_by(apisearch, *searches[:3], fenced(RIGHT))
    assert result.solution.code == RIGHT and run.meter.total.calls == 4


async def test_look_ups_in_the_code_are_removed():
    result, _, _ = await solved_by(apisearch, ASK, fenced(f"import math\n# APISearch(root)\n{RIGHT}"))
    assert "root = math.sqrt(16)" in result.solution.code


async def test_a_reply_without_code_and_a_spent_budget_end_the_run():
    result, _, _ = await solved_by(apisearch, "No idea.")
    assert result.verdict.outcome == "unsolved"
    result, _, _ = await solved_by(apisearch, fenced(RIGHT), budget=Budget(tokens=9000, seconds=1e-9))
    assert result.verdict.outcome == "stopped"
