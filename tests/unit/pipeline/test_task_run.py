"""The method, end to end on scripted models and in-process branches."""

import json
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import Budget
from exploracoder_jupyter.core.errors import BudgetExceeded, EndpointError
from exploracoder_jupyter.core.events import Record, dump
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.pipeline.task_run import explore
from exploracoder_jupyter.strategies.adaptive import adaptive
from exploracoder_jupyter.strategies.retrieval import direct
from tests.unit.world import MATH, FewApis, InlineBranch, a_run, happened


def fenced(code):
    return f"```python\n{code}\n```"


def answers(
    plan=("take the root",),
    propose=None,
    debug=None,
    solve="import math\nroot = math.sqrt(16)",
    name="scripted",
    **steps,
):
    """A model that answers each step from what is given; a function is called with the request."""
    fixed = {
        "plan": plan if callable(plan) else json.dumps({"subtasks": list(plan)}),
        "recommend": json.dumps({"apis": ["math.sqrt"]}),
        "recommend_global": json.dumps({"apis": ["math.sqrt"]}),
        "propose": propose or [fenced("import math\nroot = math.sqrt(16)\nprint(root)")],
        "debug": debug or fenced("import math\nroot = math.sqrt(16)\nprint(root)"),
        "solve": solve if callable(solve) else fenced(solve),
        "repair": solve if callable(solve) else fenced(solve),
        "explain": "Return the square root of a number.",
        **steps,
    }

    def reply(request):
        answer = fixed[request.step]
        return answer(request) if callable(answer) else answer

    return ScriptedModel(reply, name)


async def ran(model, *text, **more):
    """A run to its end, and its result."""
    run = a_run(model, *text, **more)
    return run, await run_task(run)


async def test_a_task_is_solved_when_its_check_passes():
    run, ending = await ran(answers(), check="assert root == 4")
    assert ending.verdict.outcome == "solved"
    assert ending.solution.code == "import math\nroot = math.sqrt(16)"
    assert ending.solution.apis == ("math.sqrt",)
    assert [event.kind for event in run.emit.__self__][-1] == "run_finished"


async def test_a_check_passing_beforehand_proves_nothing():
    run = a_run(answers(), check="assert root == 4")
    run = replace(run, task=replace(run.task, uses=("root",)), root=InlineBranch(["root = 4"]))
    verdict = (await run_task(run)).verdict
    assert verdict.outcome == "unchecked"
    assert "passes without it" in verdict.reason


async def test_a_solution_that_fails_its_check_is_unsolved():
    _, ending = await ran(answers(), check="assert root == 5", solution_rounds=2)
    assert ending.verdict.outcome == "unsolved"
    assert "math.sqrt" in ending.solution.code


async def unsolved(model_name, *solutions):
    """How it ends when these solutions are tried and fail the check."""
    given = iter(solutions)
    model = answers(solve=lambda request: fenced(next(given)), name=model_name)
    return await run_task(a_run(model, check="assert root == 5", solution_rounds=len(solutions)))


@pytest.mark.parametrize(
    ("model", "kept", "step"),
    [("offline", "s2", "Choose a language model with --model"), ("some-model", "s4", "Rephrase the task")],
)
async def test_the_best_failure_is_reported_with_advice(model, kept, step):
    ending = await unsolved(model, "1 / 0", "root = 2", "other = 5", "root = 4", "x = 1", "root = 1 / 0")
    assert ending.solution.candidate == kept
    assert "(6 tried, 4 ran to completion); the best one ended with AssertionError" in ending.verdict.reason
    assert step in ending.verdict.reason


@pytest.mark.parametrize(("model", "words"), [("offline", "no documented call"), ("some-model", "gave no program")])
async def test_having_no_program_is_reported_with_advice(model, words):
    ending = await unsolved(model, "", "")
    assert ending.solution is None
    assert words in ending.verdict.reason


class Cut:
    """A model whose replies are all cut off by a limit."""

    def __init__(self, text, problem):
        self.model, self.name, self.problem = ScriptedModel(lambda request: text), "cut", problem

    async def complete(self, request):
        async for reply in self.model.complete(request):
            yield replace(reply, problem=self.problem if request.schema is None else "")


@pytest.mark.parametrize("text", ["The program is as follows:", "```python\nx = (1 +"])
@pytest.mark.parametrize(
    ("problem", "named"),
    [
        ("truncated", "endpoint.max_tokens"),
        ("truncated by endpoint.max_tokens", "Raise endpoint.max_tokens"),
        ("truncated by budget.tokens", "--budget-tokens"),
        ("truncated by endpoint.timeout", "endpoint.timeout"),
    ],
)
@pytest.mark.parametrize("strategy", [adaptive, explore])
async def test_a_cut_reply_names_the_limit(text, problem, named, strategy):
    run = a_run(Cut(text, problem), as_published=False, effort="direct")
    verdict = (await run_task(run, strategy)).verdict
    assert "cut off" in verdict.reason and named in verdict.reason
    assert "Rephrase" not in verdict.reason


ROOT = "import sys\nroot = 4\n"


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit()", "raise SystemExit"])
async def test_a_program_that_exits_reaches_its_check(end):
    run, ending = await ran(answers(solve=ROOT + end, propose=[fenced(ROOT + end)]), check="assert root == 4")
    assert ending.verdict.outcome == "solved"
    seen = {event.candidate: event.observation for event in happened(run, "candidate_observed")}
    assert seen["1.1"].ran and "sys.exit" in seen["1.1"].note
    assert seen["s1"].ran and "sys.exit" in seen["s1"].note


async def test_an_early_exit_fails_the_check():
    _, ending = await ran(answers(solve="import sys\nsys.exit(0)\nroot = 4"), check="assert root == 4")
    assert ending.verdict.outcome == "unsolved"


async def test_an_exit_with_another_status_is_an_error():
    _, ending = await ran(answers(solve=ROOT + "sys.exit(2)"), check="assert root == 4")
    assert ending.verdict.outcome == "unsolved"


async def test_a_check_that_exits_has_not_passed():
    solve = "import sys\ndef root():\n    sys.exit(0)"
    _, ending = await ran(answers(solve=solve), check="assert root() == 4", name="root")
    assert ending.verdict.outcome == "unsolved"


async def test_a_failed_check_is_shown_and_repaired():
    def repair(request):
        [attempt] = request.inputs.attempts
        assert attempt.observation.error.name == "AssertionError"
        return fenced("import math\nroot = math.sqrt(16) + 1")

    _, ending = await ran(answers(repair=repair), check="assert root == 5")
    assert ending.verdict.outcome == "solved"


async def test_a_missing_named_function_is_repaired():
    def repair(request):
        [attempt] = request.inputs.attempts
        assert "defines no function root" in attempt.observation.note
        return fenced("import math\ndef root(x):\n    return math.sqrt(x)")

    _, ending = await ran(answers(solve="print(4)", repair=repair), name="root")
    assert ending.verdict.outcome == "unchecked"
    assert "def root" in ending.solution.code


async def test_an_identical_repair_is_not_run_again():
    run, _ = await ran(answers(), check="assert root == 5", solution_rounds=9)
    solutions = [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.subtask == "solution"]
    assert [(c.id, c.duplicate_of) for c in solutions] == [("s1", None), ("s2", "s1"), ("s3", "s1")]
    assert [e.candidate for e in happened(run, "candidate_observed")] == ["1.1", "s1"]


async def test_candidates_share_a_state_and_the_winner_continues():
    def propose(request):
        if request.subject == "1":
            return [fenced("bag = [1]\nprint(bag)"), fenced("bag = [1, 2]\nprint('two', bag)")]
        return [fenced(f"bag.append({i})\nprint(bag)") for i in (7, 8, 9)]

    run, _ = await ran(answers(plan=("fill the bag", "add to the bag"), propose=propose))
    texts = {e.candidate: e.observation.text for e in happened(run, "candidate_observed")}
    assert (texts["2.1"], texts["2.2"], texts["2.3"]) == ("[1, 7]\n", "[1, 8]\n", "[1, 9]\n")


async def test_duplicates_are_run_once_and_marked():
    same = [fenced("x = 1\nprint(x)"), fenced("x  =  1 # the same\nprint( x )"), fenced("x = 2\nprint(x)")]
    run, _ = await ran(answers(propose=same))
    proposed = [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.subtask == "1"]
    assert [c.duplicate_of for c in proposed] == [None, "1.1", None]
    assert {e.candidate for e in happened(run, "candidate_observed")} == {"1.1", "1.3", "s1"}


async def test_when_all_fail_distinct_failures_are_repaired():
    broken = [fenced("print(1/0)"), fenced("y = 2\nprint(1/0)"), fenced("print(nothing)")]
    run, _ = await ran(answers(propose=broken))
    repairs = [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.round == 1]
    assert {c.repairs for c in repairs} == {"1.1", "1.3"}
    assert {c.id for c in repairs} == {"1.1r1", "1.3r1"}
    [finished] = happened(run, "subtask_finished")
    assert finished.status == "done"


CLOSED = fenced("raise ValueError('closed')")
MISSING = fenced("raise ModuleNotFoundError(\"No module named 'math'\")")


@pytest.mark.parametrize(
    ("steps", "words", "begun"),
    [
        ({"propose": [CLOSED], "debug": CLOSED}, "ValueError: closed", 2),
        ({"propose": ["Sorry, but no."]}, "no code for two subtasks in a row: the reply is neither", 2),
        ({"propose": [MISSING], "debug": MISSING}, "failed to import the library", 1),
    ],
)
async def test_a_recurring_failure_stops_the_run(steps, words, begun):
    run, ending = await ran(answers(plan=("a", "b", "c", "d"), **steps), as_published=False)
    assert ending.verdict.outcome == "stopped" and words in ending.verdict.reason
    assert len(happened(run, "subtask_started")) == begun


async def test_a_satisfied_subtask_is_skipped():
    def recommend(request):
        return json.dumps({"apis": [], "satisfied": request.subject == "2", "reason": "root is printed already"})

    run, _ = await ran(answers(plan=("take the root", "print the root"), recommend=recommend))
    assert [e.status for e in happened(run, "subtask_finished")] == ["done", "skipped"]


async def test_the_remaining_plan_is_revised_within_limits():
    def recommend(request):
        return json.dumps({"apis": ["math.sqrt"], "remaining": [f"new after {request.subject}"], "reason": "learned"})

    run, _ = await ran(answers(plan=("a", "b", "c"), recommend=recommend), plan_revisions=1, subtasks=4)
    plans = [[s.title for s in e.plan.subtasks] for e in happened(run, "plan_made")]
    assert plans == [["a", "b", "c"], ["a", "b", "new after 2"]]
    ids = [s.id for s in happened(run, "plan_made")[-1].plan.subtasks]
    assert ids == ["1", "2", "4"]


async def test_a_malformed_plan_is_requested_once_more():
    run, _ = await ran(answers(plan=()))
    assert run.meter.by_step["plan"].calls == 2
    assert [s.title for s in happened(run, "plan_made")[0].plan.subtasks] == ["Compute the root of 16"]
    assert any("could not be used" in e.text for e in happened(run, "notice"))


async def test_invented_apis_are_dropped_from_a_ranking():
    run, _ = await ran(answers(recommend=json.dumps({"apis": ["math.gcd", "math.invented"]})))
    [started] = happened(run, "subtask_started")
    assert [item.api.path for item in started.apis] == ["math.gcd"]
    run, _ = await ran(answers(recommend=json.dumps({"apis": ["math.invented"]})))
    [started] = happened(run, "subtask_started")
    assert len(started.apis) == len(MATH)


async def test_a_spent_token_budget_keeps_what_ran():
    run, ending = await ran(answers(plan=("a", "b", "c", "d")), budget=Budget(tokens=2500))
    assert ending.verdict.outcome == "stopped"
    assert "tokens" in ending.verdict.reason
    assert "math.sqrt" in ending.solution.code
    assert run.meter.total.tokens < 6000


async def test_simultaneous_candidates_keep_the_execution_budget(monkeypatch):
    original = InlineBranch.fork

    async def fork(self, n):
        await anyio.sleep(0.01)
        return await original(self, n)

    monkeypatch.setattr(InlineBranch, "fork", fork)
    many = [fenced(f"print({i})") for i in range(6)]
    run, _ = await ran(answers(propose=many), candidates=6, budget=Budget(executions=3))
    assert len(run.root.log) == run.meter.total.executions == 3


async def test_selection_ignores_which_candidate_ended_first(monkeypatch):
    original = InlineBranch.run

    async def run_slowly(self, code, *, timeout):
        await anyio.sleep(0.05 if "first" in code else 0)
        return await original(self, code, timeout=timeout)

    monkeypatch.setattr(InlineBranch, "run", run_slowly)
    run, _ = await ran(answers(propose=[fenced("print('first')"), fenced("print('other')")]), candidates=2)
    assert [e.candidate for e in happened(run, "candidate_observed")][:2] == ["1.2", "1.1"]
    assert happened(run, "candidate_selected")[0].selection.candidate == "1.1"


@pytest.mark.parametrize(("executions", "outcome"), [(2, "stopped"), (3, "solved")])
async def test_a_solution_and_its_check_are_two_executions(executions, outcome):
    run, ending = await ran(answers(), check="assert root == 4", budget=Budget(executions=executions))
    assert ending.verdict.outcome == outcome
    assert run.meter.total.executions == len(run.root.log) <= executions


async def test_replies_are_cut_where_few_tokens_are_left():
    run, _ = await ran(answers(), budget=Budget(tokens=200_000))
    assert {e.exchange.sampling.max_tokens for e in happened(run, "model_called")} == {None}
    run, _ = await ran(answers(), budget=Budget(tokens=6000))
    [plan] = [e.exchange for e in happened(run, "model_called") if e.exchange.step == "plan"]
    [propose] = [e.exchange for e in happened(run, "model_called") if e.exchange.step == "propose"]
    assert plan.sampling.max_tokens == 6000
    assert propose.sampling.max_tokens < 6000 // 3


async def test_seconds_end_a_hung_model():
    class Hung(ScriptedModel):
        async def complete(self, request):
            await anyio.sleep(60)
            yield

    _, ending = await ran(Hung([]), budget=Budget(seconds=0.2))
    assert ending.verdict.outcome == "stopped"
    assert "seconds" in ending.verdict.reason


async def test_a_stop_finishes_with_what_was_learned():
    with anyio.CancelScope() as scope:

        def second(request):
            if request.subject == "2":
                scope.cancel()
            return [fenced("import math\nprint(math.sqrt(16))")]

        run = a_run(answers(plan=("a", "b"), propose=second))
        await run_task(run)
    finished = happened(run, "run_finished")[-1]
    assert finished.verdict.outcome == "stopped"
    assert "sqrt" in finished.solution.code


async def test_an_endpoint_error_is_raised_after_run_finished():
    def refuse(request):
        raise EndpointError("The endpoint refused the key.", remedy="Set OPENAI_API_KEY.")

    run = a_run(answers(recommend=refuse))
    with pytest.raises(EndpointError):
        await run_task(run)
    assert happened(run, "run_finished")[-1].verdict.reason == "The endpoint refused the key. Set OPENAI_API_KEY."
    assert happened(run, "model_called")[-1].exchange.problem


@pytest.mark.parametrize("error", [BudgetExceeded, EndpointError])
async def test_what_ran_is_selected_when_nothing_better_comes(error):
    def refuse(request):
        raise error("No more.")

    run = a_run(answers(propose=[fenced("import math\nroot = math.sqrt(16)")], debug=refuse), check="assert root == 4")
    assert (await run_task(run)).verdict.outcome == "solved"
    assert happened(run, "candidate_selected")


async def test_an_internal_fault_is_named_and_loses_nothing():
    def faulty(request):
        raise ZeroDivisionError("ours")

    run = a_run(answers(recommend_global=faulty))
    with pytest.raises(ZeroDivisionError):
        await run_task(run)
    finished = happened(run, "run_finished")[-1]
    assert "internal error" in finished.verdict.reason and "ZeroDivisionError: ours" in finished.verdict.reason
    assert "math.sqrt" in finished.solution.code


async def test_every_request_is_recorded_once_with_its_replies():
    run, _ = await ran(answers())
    steps = [e.exchange.step for e in happened(run, "model_called")]
    assert steps == ["plan", "recommend", "propose", "recommend_global", "solve"]
    assert len({e.exchange.id for e in happened(run, "model_called")}) == 5


async def test_every_reply_can_be_written_down():
    run, _ = await ran(answers(propose=["\ud800 is no code", fenced("print(1)")]))
    assert all(dump(Record(0, 0.0, event)) for event in run.emit.__self__)


async def test_the_introduction_is_made_once_per_version():
    knowledge = FewApis(MATH, readme="math is for numbers", examples=["import math\nmath.sqrt(2)"])
    steps = {
        "introduce": "It is for numbers.",
        "planners": json.dumps({"planners": [{"requirement": "r", "steps": ["s"]}]}),
    }
    first = a_run(answers(**steps), knowledge=knowledge, planners=4)
    await run_task(first)
    second = a_run(answers(), knowledge=knowledge, planners=4)
    await run_task(second)
    assert first.meter.total.calls == second.meter.total.calls + 2
    assert happened(second, "library_read")[0].introduction.planners[0].requirement == "r"


@pytest.mark.parametrize("steerable", [True, False])
async def test_only_the_root_branch_stays_open(monkeypatch, steerable):
    made, open_ = [], []
    original = InlineBranch.fork

    async def fork(self, n):
        if self.codes == []:
            open_.append(sum(not branch.closed for branch in made))
        branches = await original(self, n)
        made.extend(branches)
        return branches

    monkeypatch.setattr(InlineBranch, "fork", fork)
    run = a_run(answers(plan=("a", "b"), propose=[fenced("print(1)"), fenced("print(2)")]))
    await run_task(replace(run, steerable=steerable))
    assert open_[-1] == (2 if steerable else 1), "before the solution is run"
    assert all(branch.closed for branch in made)
    assert not run.root.closed


async def test_the_global_list_follows_the_work_done():
    run, _ = await ran(answers())
    [request] = [request for request in run.model.requests if request.step == "recommend_global"]
    assert [item.apis for item in request.inputs.experience] == [("math.sqrt",)]
    assert "math.sqrt" not in [api.path for api in request.inputs.apis]
    [solve] = [request for request in run.model.requests if request.step == "solve"]
    assert solve.inputs.apis[0].path == "math.sqrt"


async def test_a_revision_mends_the_step_under_way():
    def recommend(request):
        mend = {"subtask": "take the root again", "remaining": ["floor it"], "reason": "the root was wrong"}
        return json.dumps({"apis": ["math.sqrt"], **(mend if request.subject == "2" else {})})

    run, _ = await ran(answers(plan=("take the root", "floor it"), recommend=recommend), plan_revisions=1)
    plans = [[(s.id, s.title) for s in e.plan.subtasks] for e in happened(run, "plan_made")]
    assert plans[1] == [("1", "take the root"), ("3", "take the root again"), ("4", "floor it")]
    proposed = [request.inputs.subtask.title for request in run.model.requests if request.step == "propose"]
    assert proposed == ["take the root", "take the root again", "floor it"]


INVENTING = "jar = [7, 8]\ntotal = sum(jar)"
USING = "total = sum(jar)"


async def given_jar(model, *, strategy=explore, **more):
    """A run whose task speaks of a jar that exists."""
    run = a_run(model, "Sum the beans in `jar` into `total`", **more)
    task = replace(run.task, uses=("jar",), variables=(UserVariable("jar", "list", given=True, schema="list: 3"),))
    run = replace(run, task=task, root=InlineBranch(["jar = [1, 2, 3]"]))
    return run, await run_task(run, strategy)


async def test_a_program_that_invents_given_data_is_repaired():
    programs = iter([INVENTING, USING])
    shown = []

    def solve(request):
        shown.append(request.messages[-1].content)
        return fenced(next(programs))

    _, ending = await given_jar(answers(solve=solve, propose=[fenced("print(len(jar))")]))
    assert ending.verdict.outcome == "unchecked"
    assert ending.solution.code == USING
    assert "makes up `jar`" not in shown[0]
    assert "makes up `jar`" in shown[1]


@pytest.mark.parametrize("check", [None, "assert total == 15"])
async def test_made_up_data_never_solves(check):
    run, ending = await given_jar(
        answers(solve=INVENTING, propose=[fenced(INVENTING)], debug=fenced(INVENTING)), check=check
    )
    assert ending.verdict.outcome == "unsolved"
    assert ending.solution is None
    assert "used your data" in ending.verdict.reason
    steps = [event.status for event in happened(run, "subtask_finished")]
    assert steps == ["failed"]


async def test_given_data_may_be_changed():
    _, ending = await given_jar(answers(solve="jar = sorted(jar)\ntotal = sum(jar)"), check="assert total == 6")
    assert ending.verdict.outcome == "solved"


async def test_an_unexecuted_program_may_not_invent_either():
    _, ending = await given_jar(answers(strategy=fenced(INVENTING)), strategy=direct)
    assert ending.verdict.outcome == "unsolved"
    assert ending.solution is None


async def test_a_step_is_done_once_its_name_exists():
    plan = ("take the root and store it in `root`",)
    run, _ = await ran(answers(plan=plan))
    assert [event.status for event in happened(run, "subtask_finished")] == ["done"]
    run, _ = await ran(answers(plan=plan, propose=[fenced("print(4)")], debug=fenced("print(4.0)")))
    [finished] = happened(run, "subtask_finished")
    assert finished.status == "failed"
    assert "`root`" in finished.reason
