"""APISearch: what is answered while the program is written, and how often."""

from exploracoder_jupyter.strategies.retrieval import apisearch
from tests.unit.strategies.replies import RIGHT, fenced, solved_by
from tests.unit.world import happened

ASK = "I need a root.\nAPISearch(square root)"


async def test_nothing_is_retrieved_until_the_model_searches():
    result, shown, run = await solved_by(apisearch, ASK, fenced(RIGHT))
    assert "APISearch(" in shown[0] and "Return the square root of x." not in shown[0]
    assert "Return the square root of x." in shown[1]
    assert happened(run, "knowledge_searched") == []
    assert [(event.subject, event.argument) for event in happened(run, "looked_up")] == [("solution", "square root")]
    assert result.solution.code == RIGHT and result.solution.apis == ("math.sqrt",)
    assert run.meter.total.executions == 0


async def test_after_three_searches_without_code_it_ends():
    searches = [f"APISearch(root {number})" for number in range(9)]
    result, _, run = await solved_by(apisearch, *searches)
    assert len(happened(run, "looked_up")) == 3
    assert run.meter.total.calls <= 3 + 2
    assert result.verdict.outcome == "unsolved" and result.solution is None
    result, _, run = await solved_by(apisearch, *searches[:3], fenced(RIGHT))
    assert result.solution.code == RIGHT and run.meter.total.calls == 4
