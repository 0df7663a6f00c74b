"""What is left is estimated from what is done."""

from exploracoder_jupyter.evaluation.scheduling import Progress
from tests.scripted_units import ScriptedUnit, result_of


def test_time_and_tokens_that_are_left():
    now = [0.0]
    known = [result_of(ScriptedUnit(0), passed=True), result_of(ScriptedUnit(1, fails="endpoint"))]
    progress = Progress({"rag": 4, "explore": 2}, known, clock=lambda: now[0])
    assert (progress.done, progress.total, progress.solved) == (1, 6, 1)
    assert progress.seconds_left is None and progress.tokens_left is None
    now[0] = 30.0
    progress.add(result_of(ScriptedUnit(0, strategy="explore"), passed=False, prompt_tokens=990, cost=0.5))
    assert (progress.done, progress.failed, progress.tokens) == (2, 1, 1110)
    assert progress.seconds_left == 4 * 30.0
    assert progress.tokens_left == 3 * 110 + 1 * 1000
    assert progress.cost is None
