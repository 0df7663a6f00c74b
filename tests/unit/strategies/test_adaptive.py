"""The default effort: when a whole program suffices, when the run explores, and what exploring takes from before."""

import json
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.types import Change, Observation
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.protocol.messages import Explore, Replan
from exploracoder_jupyter.strategies.adaptive import adaptive
from tests.unit.pipeline.test_steering import Hand, listening
from tests.unit.strategies.replies import fenced
from tests.unit.world import InlineBranch, a_run, happened

GOOD = "import math\nroot = math.sqrt(16)\nprint(root)"
BROKEN = "import math\nroot = math.introot(16)"
STATED = "Write a function `root(x)`. Example: `root(16)` -> `4.0`"
FUNCTION = "import math\ndef root(x):\n    return math.sqrt(x)"
LAST = f"{GOOD}  # 3"
OPEN = [*(fenced(f"{GOOD}  # {number}\nx = {number}") for number in range(3)), fenced(LAST), fenced("root = 5")]
"""Programs that ran, none of which the judge leaves as it is."""


def plan(*titles):
    return json.dumps({"subtasks": list(titles)})


def steps(**replies):
    """A model that answers each kind of request by a text, or by a list of texts, one after another."""
    waiting = {step: list(texts) if isinstance(texts, list) else texts for step, texts in replies.items()}

    def reply(request):
        texts = waiting[request.step]
        return texts if isinstance(texts, str) else texts.pop(0)

    return ScriptedModel(reply)


async def solved(model, text="Compute the root of 16", *, observe=None, **more):
    """The result and the run; `observe` gives what the branches of the run observe instead of what they do."""
    run = a_run(model, text, as_published=False, **more)
    if observe:
        run = replace(run, root=Observed(observe))
    return await run_task(run, adaptive), run


class Observed(InlineBranch):
    """A branch whose code gives what a function says."""

    def __init__(self, observe):
        super().__init__()
        self.observe = observe

    async def run(self, code, *, timeout):
        return self.observe(code)

    async def fork(self, n):
        return [Observed(self.observe) for _ in range(n)]


def judged(run):
    """The prompt of the last request."""
    return happened(run, "model_called")[-1].exchange.messages[-1].content


def asked(run):
    return [event.exchange.step for event in happened(run, "model_called")]


def efforts(run):
    return [event.effort for event in happened(run, "effort_chosen")]


async def test_a_passing_program_costs_one_call():
    result, run = await solved(steps(solve=fenced(GOOD)), check="assert root == 4")
    assert result.verdict.outcome == "solved" and result.solution.code == GOOD
    assert asked(run) == ["solve"] and efforts(run) == ["direct"]
    assert not happened(run, "plan_made")


async def test_the_stated_example_is_a_check():
    result, run = await solved(steps(solve=fenced(FUNCTION)), STATED)
    assert result.verdict.outcome == "solved" and "states" in result.verdict.reason
    assert asked(run) == ["solve"]


async def test_a_program_is_judged_by_what_it_gave():
    result, run = await solved(steps(strategy=[fenced(GOOD), "unchanged"]))
    assert result.verdict.outcome == "unchecked" and result.solution.code == GOOD
    assert "by its output" in result.verdict.reason
    assert asked(run) == ["strategy", "strategy"] and efforts(run) == ["direct"]
    assert GOOD in judged(run) and "4.0" in judged(run)
    assert happened(run, "candidate_selected")[-1].selection.candidate == "s1"


async def test_the_judge_sees_the_last_try_alone():
    replies = [fenced("raise ValueError('first try')"), fenced(GOOD), "unchanged"]
    _, run = await solved(steps(strategy=replies))
    assert "first try" not in judged(run) and "largest integer" not in judged(run) and "math.gcd" not in judged(run)


async def test_a_correction_by_the_judge_is_judged_again():
    result, run = await solved(steps(strategy=[fenced("root = 5\nprint(root)"), fenced(GOOD), "unchanged"]))
    assert result.solution.code == GOOD and len(asked(run)) == 3
    assert "root = 5" not in judged(run)


@pytest.mark.parametrize(
    ("text", "given", "absent"),
    [
        ("Compute the root of 18.5; the result is 4.301", "4.25", "4.301"),
        ("Print the root under the title 'Roots'", "4.0", "'Roots'"),
        ("Keep the root in the column `half`", "4.0", "half"),
    ],
)
@pytest.mark.parametrize("again", [False, True])
async def test_an_absent_stated_value_is_objected_to_once(text, given, absent, again):
    program = f"print({given})"
    reply = fenced(program) if again else "unchanged"
    result, run = await solved(steps(strategy=[fenced(program), reply, reply]), text)
    assert len(asked(run)) == 3 and result.solution.code == program
    before, after = (event.exchange.messages[1].content for event in happened(run, "model_called")[1:])
    assert absent in after.replace(text, "") and absent not in before.replace(text, "")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("The result is 4", "import math\nprint(math.sqrt(16))"),
        ("The share is 45%", "print(9 / 20)"),
        ("The sum is 1,234.5", "print(1234.5)"),
        ("The mean is 0.33", "print(1 / 3)"),
        ("Print 'Roots' and keep them in `roots`", "roots = 'Roots'"),
    ],
)
async def test_what_came_out_is_not_missed(text, program):
    _, run = await solved(steps(strategy=[fenced(program), "unchanged"]), text)
    assert len(asked(run)) == 2


async def test_named_variables_are_shown_where_nothing_was():
    model = steps(strategy=[fenced("weights['a'] = 0.5"), "unchanged"])
    run = a_run(model, "Halve the values of `weights`", as_published=False)
    run = replace(run, root=InlineBranch(["weights = {'a': 1.0}"]), task=replace(run.task, uses=("weights",)))
    result = await run_task(run, adaptive)
    assert "{'a': 0.5}" in judged(run) and "by its output" in result.verdict.reason


async def test_values_that_are_all_missing_are_objected_to():
    def observe(code):
        summary = "pandas.DataFrame: 2 rows x 2 columns\n  month: str\n  Graz: float64, all missing"
        values = (Change("loop", "new", "int", "int: 3"), Change("table", "new", "pandas.DataFrame", summary))
        return Observation("ok", changes=values)

    model = steps(strategy=[fenced("table = 1"), "unchanged", fenced(GOOD), "unchanged"])
    result, run = await solved(model, "Put the months into `table`", observe=observe)
    shown = happened(run, "model_called")[1].exchange.messages[1].content
    assert shown.index("- table") < shown.index("- loop"), "what the task names comes first"
    assert "Graz in table" in happened(run, "model_called")[2].exchange.messages[1].content
    assert result.solution.code == GOOD


async def test_no_request_is_sent_twice():
    replies = [fenced(BROKEN), fenced(BROKEN), "no code", fenced(GOOD)]
    _, run = await solved(ScriptedModel(replies), check="assert root == 4")
    sent = [event.exchange.messages for event in happened(run, "model_called")]
    assert len(sent) == len({*sent}) == 4


async def test_the_last_program_is_judged_before_a_plan():
    result, run = await solved(steps(strategy=[*OPEN[:4], "unchanged"]))
    assert result.solution.code == LAST and asked(run) == ["strategy"] * 5


QUOTED = "Why does this raise?\n```python\nimport math\nmath.introot(16)\n```"


@pytest.mark.parametrize("check", [None, "assert root == 4"])
async def test_failing_code_in_the_task_runs_first(check):
    model = ScriptedModel([fenced(GOOD), *["unchanged"] * (check is None)])
    result, run = await solved(model, QUOTED, check=check)
    first = happened(run, "model_called")[0].exchange.messages[1].content
    assert "has no attribute 'introot'" in first
    assert result.solution.code == GOOD


async def test_a_plan_knows_failing_code_of_the_task():
    model = steps(plan=plan("a"), propose=fenced(GOOD), solve=fenced(GOOD))
    _, run = await explored(model, text=QUOTED)
    assert "has no attribute 'introot'" in happened(run, "model_called")[0].exchange.messages[1].content


@pytest.mark.parametrize(
    "text",
    [
        "Fix nothing:\n```python\nprint(1)\n```",
        "Plot the errors of\n```python\nimport math\nmath.introot(16)\n```",
        "Write `f(x)`, which raises ValueError:\n```python\nf(-1)\n```",
    ],
)
async def test_other_code_in_the_task_is_no_failure(text):
    program = FUNCTION.replace("root", "f")
    _, run = await solved(steps(strategy=[fenced(program), "unchanged"]), text, name="f")
    assert "introot" not in judged(run).replace(text, "")
    assert [event.candidate for event in happened(run, "candidate_observed")] == ["s1"]


async def test_an_empty_plan_without_program_is_repeated():
    model = steps(
        solve=fenced(BROKEN), repair=fenced(BROKEN), plan=[plan(), plan("take the root")], propose=fenced(GOOD)
    )
    _, run = await solved(model, check="assert root == 4")
    assert [event.plan.subtasks[0].title for event in happened(run, "plan_made")] == ["take the root"]


async def test_exploring_starts_from_what_was_tried_and_found():
    programs = [fenced(f"import math\nroot = math.introot({number})") for number in range(3)]
    model = steps(
        solve=fenced(BROKEN),
        repair=[*programs, fenced(GOOD)],
        plan=plan("take the root"),
        propose=fenced(GOOD.replace("root", "other")),
    )
    result, run = await solved(model, check="assert root == 4")
    assert result.verdict.outcome == "solved" and result.solution.code == GOOD
    assert asked(run) == ["solve", "repair", "repair", "repair", "plan", "propose", "repair"]
    planning, _, last = (event.exchange.messages[1].content for event in happened(run, "model_called")[-3:])
    assert "introot" in planning and "math.sqrt" in planning
    assert "introot" in last and "print(other)" in last


ONE, OTHER = "import math\nprint(math.sqrt(9))", "import math\nroot = math.sqrt(16)\nprint(root)"


async def test_explored_cells_that_pass_are_the_solution():
    model = steps(plan=plan("a", "b"), propose=[[fenced(ONE)], [fenced(OTHER)]])
    run = a_run(model, as_published=False, check="assert root == 4")
    result = await run_task(run)
    assert result.verdict.outcome == "solved" and asked(run) == ["plan", "propose", "propose"]
    assert result.solution.code == f"{ONE}\n\n{OTHER}".replace("import math\n", "", 2).replace("", "import math\n", 1)


async def test_a_failed_candidate_is_known_to_later_subtasks():
    broken = "def create_table():\n    raise RuntimeError('closed')\ncreate_table()"
    model = steps(plan=plan("a", "b"), propose=[[fenced(broken), fenced(GOOD)], [fenced(GOOD)]], solve=fenced(GOOD))
    _, run = await explored(model)
    first, second = (one.exchange for one in happened(run, "model_called") if one.exchange.step == "propose")
    assert "closed" in second.messages[1].content and "closed" not in first.messages[1].content


async def test_without_values_the_plan_is_not_empty():
    model = steps(
        strategy=fenced(GOOD), plan=[plan(), plan("take the root")], propose=fenced(GOOD), repair=fenced(GOOD)
    )
    run = replace(a_run(model, as_published=False), sharing="schema")
    await run_task(run, adaptive)
    assert len(happened(run, "plan_made")) == 1


@pytest.mark.parametrize("more", [{"review": True}, {"name": OFFLINE}])
async def test_nothing_is_tried_first_where_impossible_or_unwanted(more):
    reply = {
        "plan": plan("take the root"),
        "recommend": "{}",
        "recommend_global": "{}",
        "propose": fenced(GOOD),
        "solve": fenced(GOOD),
    }
    model = ScriptedModel(lambda request: reply[request.step], more.pop("name", "scripted"))
    run = replace(a_run(model, as_published=False, **more), steerable=True, steering=Hand())

    def accept(event):
        if event.kind == "review_asked":
            run.steering.ask(Replan(("take the root",)))

    await run_task(listening(run, accept), adaptive)
    assert efforts(run) == ["explore"] and asked(run)[0] == "plan"


async def test_the_user_may_explore_anyway():
    hand = Hand()

    class Slow(ScriptedModel):
        async def complete(self, request):
            if request.step == "strategy":
                hand.ask(Explore())
                await anyio.sleep_forever()
            async for reply in super().complete(request):
                yield reply

    reply = {"plan": plan("take the root"), "propose": fenced(GOOD), "solve": fenced(GOOD)}
    run = replace(a_run(Slow(lambda request: reply[request.step]), as_published=False), steering=hand)
    result = await run_task(run, adaptive)
    assert efforts(run) == ["direct", "explore"] and result.solution.code == GOOD
    assert asked(run) == ["strategy", "plan", "propose", "solve"]


async def explored(model, text="Compute the root of 16", **more):
    run = a_run(model, text, as_published=False, **{"candidates": 5, **more})
    return await run_task(run), run


async def test_exploring_proposes_two_candidates_per_subtask():
    model = steps(plan=plan("a", "b"), propose=fenced(GOOD), solve=fenced(GOOD))
    _, run = await explored(model)
    assert asked(run) == ["plan", "propose", "propose", "solve"]
    assert [event.exchange.sampling.n for event in happened(run, "model_called")][1:3] == [2, 2]


async def test_more_candidates_follow_failed_ones():
    model = steps(
        plan=plan("a"),
        propose=[[fenced(BROKEN)], [fenced(GOOD)]],
        debug=fenced(BROKEN + "  # again"),
        solve=fenced(GOOD),
    )
    _, run = await explored(model, debug_rounds=1)
    counts = [event.exchange.sampling.n for event in happened(run, "model_called") if event.exchange.step == "propose"]
    assert counts == [2, 3]
    assert [event.status for event in happened(run, "subtask_finished")] == ["done"]


async def test_a_subtask_already_shown_is_skipped():
    model = steps(plan=plan("a", "b"), propose=[[fenced(GOOD)], ["done", "done"]], solve=fenced(GOOD))
    _, run = await explored(model)
    assert [event.status for event in happened(run, "subtask_finished")] == ["done", "skipped"]


async def test_after_a_failed_subtask_the_plan_may_change():
    recommend = json.dumps({"apis": ["math.sqrt"], "reason": "a is impossible", "remaining": ["c"]})
    model = steps(
        plan=plan("a", "b", "d"),
        propose=[[fenced(BROKEN)], [fenced(GOOD)], [fenced(GOOD)]],
        recommend=recommend,
        recommend_global="{}",
        solve=fenced(GOOD),
    )
    _, run = await explored(model, candidates=2, debug_rounds=0)
    assert [subtask.title for subtask in happened(run, "plan_made")[-1].plan.subtasks] == ["a", "b", "c"]


async def test_an_example_true_beforehand_proves_nothing():
    result, _ = await solved(steps(strategy=[fenced(GOOD), *["unchanged"] * 2]), "Sort by length: `len('abc')` is 3")
    assert result.verdict.outcome == "unchecked"


@pytest.mark.parametrize("reply", [fenced(LAST), "unchanged"])
async def test_an_unchanged_program_is_kept_after_exploring(reply):
    model = steps(strategy=OPEN, plan=plan("take the root"), propose=fenced("print(2)"), repair=[reply])
    result, run = await solved(model)
    assert result.verdict.outcome == "unchecked" and result.solution.code == LAST
    first = happened(run, "model_called")[6].exchange
    assert first.step == "propose" and LAST in first.messages[1].content


async def test_a_program_that_ran_survives_a_stop():
    model = steps(strategy=OPEN, plan=plan("a", "b"), propose=fenced("raise ValueError('closed')"),
                  debug=fenced("raise ValueError('closed')"), recommend="{}")  # fmt: skip
    result, _ = await solved(model, debug_rounds=0)
    assert result.verdict.outcome == "stopped" and result.solution.code == LAST
