"""Reflexion: what a failed program is reflected on with, and what the next one is written with."""

from exploracoder_jupyter.strategies.retrieval import reflexion
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, solved_by
from tests.unit.world import happened


async def test_a_passing_program_needs_one_call():
    result, shown, run = await solved_by(reflexion, fenced(RIGHT))
    assert result.verdict.outcome == "solved"
    assert len(shown) == 1
    assert "Return the square root" not in shown[0]
    assert happened(run, "knowledge_searched") == []


async def test_the_next_program_sees_error_and_reflections():
    second = WRONG.replace("introot", "root")
    result, shown, _ = await solved_by(
        reflexion, fenced(WRONG), "There is no introot.", fenced(second), "Nor is there\nroot.", fenced(RIGHT)
    )
    assert result.verdict.outcome == "solved"
    _, reflect, retry, reflect_again, retry_again = shown
    assert "AttributeError" in reflect and "AttributeError" in retry
    assert "- There is no introot." in retry and "- There is no introot." in reflect_again
    assert "- There is no introot.\n- Nor is there root." in retry_again
    assert "math.root(16)" in retry_again and "math.introot(16)" not in retry_again


async def test_a_failed_check_is_feedback_within_the_limit():
    wrong = [fenced(f"root = {number}") for number in (1, 2)]
    result, shown, run = await solved_by(reflexion, wrong[0], "Too low.", wrong[1], solution_rounds=2)
    assert "AssertionError" in shown[1]
    assert len(shown) == 2 * 1 + 1
    assert result.verdict.outcome == "unsolved" and result.solution.code == "root = 2"
    assert len(happened(run, "candidate_observed")) == 2


async def test_only_the_latest_three_reflections_are_remembered():
    replies = [fenced("root = 0")]
    for number in range(1, 5):
        replies += [f"reflection {number}", fenced(f"root = {number - 9}")]
    _, shown, _ = await solved_by(reflexion, *replies, solution_rounds=5)
    assert "reflection 1" in shown[-3] and "reflection 1" not in shown[-1]
    assert all(f"- reflection {number}\n" in shown[-1] for number in (2, 3, 4))


async def test_empty_reflections_and_codeless_replies_are_survived():
    result, _, _ = await solved_by(reflexion, fenced(WRONG), "", "No code.", fenced(RIGHT))
    assert result.verdict.outcome == "solved"
    result, _, _ = await solved_by(reflexion, "No code.", "Again none.")
    assert result.verdict.outcome == "unsolved" and result.solution is None
