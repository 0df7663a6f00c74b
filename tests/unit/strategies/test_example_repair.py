"""Example and repair: which example is run, what the model is shown of it, when it ends and how."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.example_repair import example_repair
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, prompts
from tests.unit.world import a_run, api, happened

PROSE = "Write a function `root(x)`. Example: the root of 16 is four."
STATED = "Write a function `root(x)`. Example: `root(16)` -> `4.0`"
GOOD = "import math\ndef root(x):\n    return math.sqrt(x)"
BAD = "def root(x):\n    return x / 2"
BROKEN = "import math\ndef root(x):\n    return math.introot(x)"


def with_example(program, example="root(16)"):
    return fenced(f"{program}\n# --- example ---\nprint({example})")


async def repaired(*replies, text=PROSE, sharing="values", **more):
    model = ScriptedModel(replies)
    run = replace(a_run(model, text, strategy="example-repair", **more), sharing=sharing)
    result = await run_task(run, example_repair)
    assert len(model.requests) == run.meter.total.calls
    return result, prompts(model), run


def executed(run):
    return [event.candidate for event in happened(run, "candidate_observed")]


async def test_another_result_is_shown_and_repaired():
    result, [_, repair], _ = await repaired(fenced(BAD), fenced(GOOD), text=STATED)
    assert BAD in repair and "8.0" in repair
    assert result.solution.candidate == "s2" and result.verdict.outcome == "solved"


async def test_an_example_in_prose_is_run_as_the_model_writes_it_and_confirmed():
    result, [_, confirm], run = await repaired(with_example(GOOD), "unchanged")
    assert "4.0" in confirm and "unchanged" in confirm
    assert executed(run) == ["s1", "s1e"]
    assert result.solution.code == GOOD and "the model found" in result.verdict.reason


async def test_the_example_is_no_part_of_the_solution_and_starts_from_its_state():
    result, _, run = await repaired(with_example(BAD), with_example(GOOD), "`unchanged`")
    assert result.solution.code == GOOD
    cells = {event.candidate.id: event.candidate for event in happened(run, "candidate_proposed")}
    assert [(one.id, one.parent) for one in cells.values()] == [("s1", ""), ("s1e", "s1"), ("s2", ""), ("s2e", "s2")]
    assert cells["s2"].repairs == "s1" and cells["s2e"].code == "print(root(16))"


async def test_the_same_program_again_confirms_it():
    result, shown, run = await repaired(with_example(GOOD), with_example(GOOD))
    assert len(shown) == 2 and executed(run) == ["s1", "s1e"]
    assert result.solution.candidate == "s1"


async def test_the_same_program_with_another_example_is_run_again():
    result, shown, run = await repaired(with_example(GOOD, "wrong"), with_example(GOOD), "unchanged")
    assert len(shown) == 3 and executed(run) == ["s1", "s1e", "s2", "s2e"]
    assert result.solution.code == GOOD and "the model found" in result.verdict.reason


async def test_a_failure_is_searched_for_and_cannot_be_confirmed():
    apis = (api("math.sqrt", "Compute the root"), api("math.isqrt", "AttributeError module math introot"))
    replies = (with_example(BROKEN), "unchanged", with_example(GOOD), "unchanged")
    result, shown, run = await repaired(*replies, text=f"{PROSE} root Compute", apis=apis, retrieved=1)
    first, repair = shown[0], shown[1]
    assert "math.isqrt" not in first and "math.isqrt" in repair and "has no attribute 'introot'" in repair
    assert shown[2] != repair and "could not be used" in shown[2], "the word alone is no reply to a failure"
    assert [event.subject for event in happened(run, "knowledge_searched") if event.round] == ["s1e"]
    assert result.solution.candidate == "s2" and result.verdict.outcome == "unchecked"


async def test_a_program_without_an_example_is_accepted_when_it_runs():
    result, shown, run = await repaired(fenced(WRONG), fenced(RIGHT), text="Compute the root of 16")
    assert len(shown) == 2 and executed(run) == ["s1", "s2"]
    assert result.solution.candidate == "s2" and "nothing checked" in result.verdict.reason


async def test_a_demonstration_executes_what_the_program_defines_and_is_compared_with_nothing():
    broken, good = (f"{program}\n# --- demonstration ---\nroot(16)" for program in (BROKEN, GOOD))
    result, shown, run = await repaired(fenced(broken), fenced(good), text="Write a function `root(x)`")
    assert len(shown) == 2 and "has no attribute 'introot'" in shown[1]
    assert executed(run) == ["s1", "s1e", "s2", "s2e"]
    assert result.solution.code == GOOD and "nothing checked" in result.verdict.reason


@pytest.mark.parametrize(("text", "outcome"), [(STATED, "unsolved"), (PROSE, "unchecked")])
async def test_after_three_repairs_the_latest_program_that_ran_is_returned(text, outcome):
    programs = [f"def root(x):\n    return {number}" for number in range(9)]
    result, shown, _ = await repaired(*map(with_example, programs), text=text)
    assert len(shown) == 4
    assert result.verdict.outcome == outcome and result.solution.code == programs[3]


async def test_a_check_of_the_user_takes_the_place_of_the_example():
    replies = (fenced(BAD), fenced(GOOD))
    result, [prompt, repair], run = await repaired(*replies, check="assert root(16) == 4", text=STATED)
    assert "# --- example ---" not in prompt + repair
    assert executed(run) == ["s1", "s2"]
    assert result.verdict.outcome == "solved"


async def test_the_model_does_not_judge_what_it_may_not_see():
    result, shown, _ = await repaired(with_example("secret = 4.25\ndef root(x):\n    return secret"), sharing="schema")
    assert len(shown) == 1 and result.solution.candidate == "s1"
    _, shown, _ = await repaired(
        with_example("def root(x):\n    return 4.25"), fenced(GOOD), text=STATED, sharing="schema"
    )
    assert len(shown) == 2
    assert "return 4.25" in shown[1] and shown[1].count("4.25") == 1, "the code is shown, and no output"
