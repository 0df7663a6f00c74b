"""Correctness testing: inputs are invented, outputs judged, programs corrected; the final verdict is true."""

import json
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import Budget
from exploracoder_jupyter.llm.offline import OfflineModel
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from tests.unit.pipeline.test_branch_operations import changing
from tests.unit.pipeline.test_task_run import answers, fenced
from tests.unit.world import MATH, FewApis, a_run, happened

NAIVE = "def root(x):\n    return x ** 0.5"
SOUND = "import math\ndef root(x):\n    return math.isqrt(x)"
INPUTS = json.dumps(
    {
        "tests": [
            {"title": "an ordinary one", "after": "print(root(9))"},
            {"title": "no square", "before": "n = 10", "after": "print(root(n))"},
        ]
    }
)
WRITES_B = "\nwritten = {'b': '2'}"
RIGHT = "t1: right\nt2: right, as it should be\nright"
WRONG = "t1: right\nt2: wrong - the root is cut off to a whole number\nwrong"


def a_tested_run(solve=NAIVE, *, judge=RIGHT, invent=INPUTS, check=None, **more):
    """A run with tests; `judge` is one reply, or one for each round."""
    replies = iter([judge] if isinstance(judge, str) else judge)
    model = answers(solve=solve, invent=invent, judge=lambda request: next(replies), **more.pop("steps", {}))
    return a_run(model, "Take the whole root", check=check, name="root", tests=True, **more)


async def tested(*solve, **more):
    run = a_tested_run(*solve, **more)
    return run, await run_task(run)


def asked(run, step):
    return [request for request in run.model.requests if request.step == step]


def solutions(run):
    return [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.subtask == "solution"]


async def test_outputs_judged_right_solve_a_task():
    run, ending = await tested(judge=RIGHT)
    assert ending.verdict.outcome == "solved"
    assert ending.verdict.reason == "Judged right on 2 generated inputs; no check was given."
    [event] = happened(run, "solution_tested")
    assert [(item.input, item.observation.text) for item in event.results] == [
        ("t1", "3.0"),
        ("t2", "3.1622776601683795"),
    ]
    [selected] = [e for e in happened(run, "candidate_selected") if e.selection.subtask == "solution"]
    assert "judged right on 2 generated inputs" in selected.selection.reasons


async def test_files_of_the_corrected_program_are_kept(tmp_path):
    judge = [f"{WRONG}\n{fenced(SOUND + WRITES_B)}", RIGHT]
    run = replace(a_tested_run(NAIVE + "\nwritten = {'a': '1'}", judge=judge), files=tmp_path / "files")
    await run_task(run)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["b"]
    assert [event.files for event in happened(run, "files_kept")] == [("a",), ("b",)]


async def test_a_program_judged_wrong_is_corrected():
    run, ending = await tested(judge=[f"{WRONG}\n{fenced(SOUND)}", RIGHT])
    assert (ending.solution.candidate, ending.solution.code) == ("s2", SOUND)
    assert ending.verdict.outcome == "solved"
    assert [(c.id, c.repairs, c.round) for c in solutions(run)] == [("s1", None, 0), ("s2", "s1", 1)]
    judged = [(e.candidate, e.judgement.ruling, e.judgement.reason) for e in happened(run, "solution_judged")]
    assert judged == [("s1", "wrong", "the root is cut off to a whole number"), ("s2", "right", "as it should be")]
    texts = [item.observation.text for item in asked(run, "judge")[1].inputs.results]
    assert texts == ["3", "3"]


async def test_used_up_rounds_leave_the_program_unchecked():
    programs = [NAIVE + f" + {n}" for n in range(9)]
    run, ending = await tested(judge=[f"{WRONG}\n{fenced(code)}" for code in programs], test_rounds=2)
    assert [candidate.id for candidate in solutions(run)] == ["s1", "s2", "s3"]
    assert ending.solution.candidate == "s3"
    assert ending.verdict.outcome == "unchecked"
    assert ending.verdict.reason == (
        "Judged wrong on the generated input “no square”: the root is cut off to a whole number; no check was given."
    )


async def test_the_same_program_ends_the_rounds():
    run, ending = await tested(judge=[f"{WRONG}\n{fenced('# once more' + chr(10) + NAIVE)}"])
    assert [(c.id, c.duplicate_of) for c in solutions(run)] == [("s1", None), ("s2", "s1")]
    assert ending.verdict.outcome == "unchecked"
    assert "the model had no other program to offer" in ending.verdict.reason


@pytest.mark.parametrize("reply", ["unsure", "t1: unsure, cannot be seen\nVerdict: unsure", "wrong"])
async def test_an_unsure_or_wrong_verdict_is_never_solved(reply):
    _, ending = await tested(judge=reply)
    assert ending.verdict.outcome == "unchecked"
    assert ending.solution.candidate == "s1"


async def test_unparsable_replies_are_unsure():
    run, ending = await tested(judge=["I like it.", "I still like it."])
    assert ending.verdict.outcome == "unchecked"
    assert any("could not be parsed" in event.text for event in happened(run, "notice"))


async def test_the_users_check_is_repaired_first():
    steps = {"repair": fenced(SOUND)}
    run, ending = await tested(NAIVE, check="assert root(10) == 3", steps=steps)
    assert ending.verdict.outcome == "solved"
    assert ending.verdict.reason == "Its check passed; judged right on 2 generated inputs."
    assert [request.inputs.program.candidate.id for request in asked(run, "invent")] == ["s2"]


async def test_a_correction_that_fails_the_check_is_dropped():
    _, ending = await tested(check="assert root(9) == 3", judge=[f"{WRONG}\n{fenced('def root(x): return 0')}", RIGHT])
    assert ending.solution.code == NAIVE
    assert ending.verdict.outcome == "solved"
    assert ending.verdict.reason == (
        "Its check passed; judged wrong on the generated input “no square”: the root is cut off to a whole number."
    )


async def test_a_failing_correction_is_judged_and_corrected():
    judge = [f"{WRONG}\n{fenced('def root(x): return 1 / 0')}", f"wrong\n{fenced(SOUND)}", RIGHT]
    run, ending = await tested(check="assert root(9) == 3", judge=judge)
    assert (ending.solution.candidate, ending.verdict.outcome) == ("s3", "solved")
    assert asked(run, "judge")[1].inputs.program.observation.error.name == "ZeroDivisionError"


async def test_errors_among_the_results_are_looked_up():
    class Searched(FewApis):
        def __init__(self):
            super().__init__(MATH)
            self.queries = []

        async def search(self, query, k):
            self.queries.append((query, k))
            return await super().search(query, k)

    knowledge = Searched()
    invent = json.dumps({"tests": [{"title": "text", "after": "root('nine')"}, {"title": "one", "after": "root(1)"}]})
    run, ending = await tested(invent=invent, knowledge=knowledge)
    [(query, k)] = [(query, k) for query, k in knowledge.queries if "TypeError" in query]
    assert "unsupported operand" in query and k == 5
    [request] = asked(run, "judge")
    assert request.inputs.apis and request.inputs.apis[0].path in request.messages[1].content
    assert ending.verdict.reason == "Judged right on 1 generated input (1 could not be run); no check was given."


async def test_right_needs_an_input_that_ran():
    invent = json.dumps({"tests": [{"title": "text", "after": "root('nine')"}]})
    ending = await run_task(a_tested_run(invent=invent, judge="right"))
    assert ending.verdict.outcome == "unchecked"
    assert "it ran to completion on no generated input" in ending.verdict.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("t1: right\n\nright", "Judged right on 1 generated input (1 not judged); no check was given."),
        (
            "t1: right\nt2: not quite right\nright",
            "Judged right on 1 generated input (1 not judged); no check was given.",
        ),
        ("right", "Judged right, but no input was judged individually; no check was given."),
    ],
)
async def test_only_inputs_with_an_opinion_are_judged_right(reply, reason):
    ending = await run_task(a_tested_run(judge=reply))
    assert ending.verdict.outcome == "unchecked"
    assert ending.verdict.reason == reason


async def test_an_input_that_fails_alone_is_dropped():
    tests = [{"title": "broken", "before": "1 / 0", "after": "root(1)"}, {"title": "one", "after": "print(root(1))"}]
    run, ending = await tested(invent=json.dumps({"tests": tests}), judge="t2: right\nright")
    assert [item.subtask.id for item in asked(run, "judge")[0].inputs.results] == ["t2"]
    assert any("“broken” was skipped" in event.text for event in happened(run, "notice"))
    assert ending.verdict.reason == "Judged right on 1 generated input (1 could not be run); no check was given."


async def test_expected_values_are_removed_from_inputs():
    invent = json.dumps({"tests": [{"title": "nine", "after": "assert root(9) == 4\nassert root(16) == 5"}]})
    run, _ = await tested(invent=invent)
    [event] = happened(run, "inputs_invented")
    assert event.inputs[0].after == "print(root(9))\nroot(16)"
    assert any("Assertions were removed" in event.text for event in happened(run, "notice"))


async def test_without_usable_replies_the_solution_stays():
    _, ending = await tested(invent=["", ""], check="assert root(9) == 3")
    assert ending.verdict.outcome == "solved"
    assert (
        ending.verdict.reason == "Its check passed; its outputs were not judged, because no usable input was generated."
    )


async def test_the_budgets_end_keeps_the_last_passing_program():
    # a candidate, a solution and its check; the program and what is around it on two inputs; a correction and its check
    run = a_tested_run(
        judge=[f"{WRONG}\n{fenced(SOUND)}", RIGHT],
        check="assert root(9) == 3",
        budget=Budget(executions=3 + 5 + 2),
        candidates=1,
    )
    ending = await run_task(run)
    assert ending.solution.candidate == "s2"
    assert ending.verdict.outcome == "solved"
    assert "not judged (the budget of 10 executions is spent)" in ending.verdict.reason


class Slow(ScriptedModel):
    """Never comes to a judgement."""

    async def complete(self, request):
        if request.step == "judge":
            await anyio.sleep_forever()
        async for reply in super().complete(request):
            yield reply


@pytest.mark.parametrize(("check", "outcome"), [("assert root(9) == 3", "solved"), (None, "unchecked")])
async def test_the_end_of_time_keeps_a_running_program(check, outcome):
    run = a_tested_run(check=check, budget=Budget(seconds=2))
    ending = await run_task(replace(run, model=Slow(run.model._script)))
    assert (ending.verdict.outcome, ending.solution.code) == (outcome, NAIVE)
    assert "its outputs were not judged (the budget of 2 seconds is spent)" in ending.verdict.reason.lower()
    assert run.meter.by_step["judge"].calls == 0


async def test_after_a_branching_change_inputs_are_retried(monkeypatch):
    changing(monkeypatch, 5)
    run, ending = await tested(candidates=1)
    assert ending.verdict.outcome == "solved"
    assert len(happened(run, "solution_tested")) == 1


async def test_the_offline_model_skips_tests_and_says_so():
    run = a_run(
        OfflineModel(FewApis(MATH)), "Store the square root of 16 in root", tests=True, check="assert root == 4"
    )
    ending = await run_task(run)
    assert ending.verdict.outcome == "solved"
    notices = [event.text for event in happened(run, "notice") if "--tests" in event.text]
    assert notices == ["The offline model can neither write test inputs nor judge outputs: --tests is ignored."]


async def test_unshared_outputs_are_not_judged():
    run = replace(a_tested_run(), sharing="none")
    ending = await run_task(run)
    assert ending.verdict.outcome == "unchecked"
    assert not asked(run, "invent") and not asked(run, "judge")
    assert any("--share none" in event.text for event in happened(run, "notice"))


async def test_right_by_types_alone_is_not_solved():
    run = replace(a_tested_run(), sharing="schema")
    ending = await run_task(run)
    assert ending.verdict.outcome == "unchecked"
    assert "without seeing any of its values" in ending.verdict.reason


async def test_with_schema_no_error_value_reaches_search():
    searched = []

    class Noting(FewApis):
        async def search(self, query, k):
            searched.append(query)
            return await super().search(query, k)

    invent = json.dumps({"tests": [{"after": "raise KeyError('secret salary')"}, {"after": "root(1)"}]})
    run = replace(a_tested_run(invent=invent, knowledge=Noting(MATH)), sharing="schema")
    await run_task(run)
    assert any("KeyError" in query for query in searched)
    assert not any("secret salary" in query for query in searched)
