"""What is kept of a run for later tasks, that it runs by itself, and what is forgotten."""

from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Budget, Retrieval
from exploracoder_jupyter.core.types import Candidate, Change, Experience, Observation, Passage, Subtask, UserVariable
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.pipeline.code_analysis import same_statements, slice_dependencies, unbound_names
from tests.unit.pipeline.test_task_run import answers, fenced
from tests.unit.world import MATH, FewPassages, a_run, api, happened

ROOT = "import math\nroot = math.sqrt(16)\nprint(root)"
FLOOR = "import math\nlow = math.floor(root)\nprint(low)"


def two_steps(**steps):
    def propose(request):
        return [fenced(ROOT if request.subject == "1" else FLOOR)]

    return answers(**{"plan": ("take the root", "floor it"), "propose": propose, "solve": f"{ROOT}\n{FLOOR}", **steps})


async def learned(model, **more):
    sources = FewPassages()
    run = a_run(model, **{key: more.pop(key) for key in ("check", "text") if key in more})
    await run_task(replace(run, sources=sources, python="3.11.9", **more))
    return sources.learned


async def test_cells_and_solution_are_kept_runnable():
    root, floor, solution = await learned(two_steps(), check="assert low == 4")
    assert (root.title, floor.title, solution.title) == ("take the root", "floor it", "Compute the root of 16")
    assert floor.code == f"{ROOT}\n\nlow = math.floor(root)\nprint(low)"
    assert floor.apis == ("math.floor",) and floor.observed == "4"
    assert (floor.library, floor.version, floor.python) == ("math", "1.0", "3.11")
    for snippet in (root, floor, solution):
        exec(snippet.code, {})


async def test_outputs_are_kept_only_with_shared_values():
    kept = await learned(two_steps(), sharing="schema")
    assert kept and not any(snippet.observed for snippet in kept)


@pytest.mark.parametrize("more", [{"check": "assert low == 5"}, {"retrieval": Retrieval(snippets=False)}])
async def test_an_unsolved_or_unwanted_run_keeps_nothing(more):
    assert await learned(two_steps(), **more) == []


async def test_failed_or_dependent_code_is_not_kept():
    def propose(request):
        return {"1": [fenced("1 / 0")], "2": [fenced("import math\nx = math.sqrt(mine)")]}.get(
            request.subject, [fenced("print(1 + 1)")]
        )

    model = answers(plan=("fail", "mine", "plain"), propose=propose, debug=fenced("1 / 0"), solve="print(2)")
    assert await learned(model) == []


@pytest.mark.parametrize(("check", "kept"), [("assert low == 4", ["Compute the root of 16"]), (None, [])])
async def test_the_offline_model_keeps_only_checked_code(check, kept):
    assert [one.title for one in await learned(two_steps(name=OFFLINE), check=check)] == kept


async def test_a_budget_ending_while_keeping_spares_the_solution():
    class Slow(FewPassages):
        async def learn(self, snippets):
            await anyio.sleep(run.meter.seconds_left + 0.05)
            await super().learn(snippets)

    sources = Slow()
    run = replace(a_run(two_steps(), check="assert low == 4", budget=Budget(seconds=1.2)), sources=sources)
    assert (await run_task(run)).verdict.outcome == "solved"
    assert sources.learned


@pytest.mark.failing_heuristics
async def test_a_failing_store_is_reported_and_spares_solutions():
    class Full(FewPassages):
        async def learn(self, snippets):
            raise OSError("the disk is full")

    run = replace(a_run(two_steps(), check="assert low == 4"), sources=Full())
    assert (await run_task(run)).verdict.outcome == "solved"
    [notice] = happened(run, "notice")
    assert notice.level == "warning" and "the disk is full" in notice.text


def cell(code, *changed):
    changes = tuple(Change(name, "mutated", "list") for name in changed)
    return Experience(Subtask("1", "t"), Candidate("1.1", "1", code), Observation("ok", changes=changes))


@pytest.mark.parametrize(
    ("cells", "together"),
    [
        ((cell("a = 1"), cell("b = 2"), cell("print(b)")), "b = 2\n\nprint(b)"),
        ((cell("a = [1]"), cell("a.append(2)", "a"), cell("print(a)")), "a = [1]\n\na.append(2)\n\nprint(a)"),
        ((cell("a = [1]"), cell("print(a)"), cell("sum(a)")), "a = [1]\n\nsum(a)"),
        ((cell("import math"), cell("def f(x):\n    return math.sqrt(x)"), cell("f(4)")), None),
        ((cell("import math\nprint(1)"), cell("import math\nmath.sqrt(4)")), "import math\nmath.sqrt(4)"),
        ((cell("x = 1"), cell("[x for x in (1, 2)]")), "[x for x in (1, 2)]"),
        ((cell("x = 1"), cell("x = 1"), cell("print(x)")), "x = 1\n\nprint(x)"),
        ((cell("import math; y = 1"), cell("import math\nprint(y)")), "import math; y = 1\n\nprint(y)"),
    ],
)
def test_a_cell_is_completed_by_needed_ones(cells, together):
    code = slice_dependencies(cells)
    assert together is None or code == together
    assert unbound_names(code) == set()
    exec(code, {})


@pytest.mark.parametrize(
    "code",
    [
        "print(df)",
        "df = df.dropna()",
        "x += 1",
        "def f():\n    return df\nf()",
        "%matplotlib inline\nx = 1",
        "x =",
        "y, x = x, y",
        f"x = {' + '.join(['1'] * 1000)}",
    ],
)
def test_code_with_other_names_is_not_self_contained(code):
    assert unbound_names(code) != set()


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(3):\n    print(i)",
        "try:\n    x = 1\nexcept ValueError as e:\n    print(e)",
        "[i for i in 'ab']",
        "with open('f') as f:\n    print(f)",
        "def f(n):\n    return n and f(n - 1)\nf(2)",
        "display(1)",
        "x: int = 1\nx += 1",
    ],
)
def test_code_with_its_names_is_self_contained(code):
    assert unbound_names(code) == set()


def test_code_repeats_another_that_has_the_same_statements():
    assert same_statements("math.floor( 2.5 )  # low\nimport math", "import math\nmath.floor(2.5)")
    assert not same_statements("math.floor(2.5)", "import math\nmath.floor(2.5)")
    assert not same_statements("", "") and not same_statements("x =", "x =")


KEPT = Passage("snippet", "take the root", "import math\nprint(math.introot(16))", "snippet 1 of math", (), True)


async def test_a_kept_snippet_comes_first_and_shortens_plans():
    model = answers()
    await run_task(replace(a_run(model), sources=FewPassages(KEPT)))
    prompts = {request.step: request.messages[1].content for request in model.requests}
    for step in ("propose", "solve"):
        assert prompts[step].index("[snippet: take the root") < prompts[step].index("math.sqrt(x)")
    assert "needs no subtasks of its own" in prompts["plan"]
    assert "start from it" in prompts["propose"]
    model = answers()
    await run_task(a_run(model))
    assert not any("ran before" in message.content for r in model.requests for message in r.messages)


@pytest.mark.parametrize(
    ("code", "stays"),
    [
        ("print(math.introot(16))", False),
        ("import math\nprint(math.introot(16))", False),
        ("import math\nprint(math.introot(25))", True),
        ("import math\nprint(math.introot(16)); more", True),
        ("print(16 / 0)", True),
    ],
)
async def test_a_repeated_snippet_that_fails_is_forgotten(code, stays):
    sources = FewPassages(KEPT)
    import_ = "import math\n" if "import" not in code else ""
    run = a_run(answers(propose=[fenced(import_ + code)], debug=fenced("print(4)")))
    await run_task(replace(run, sources=sources))
    assert bool(sources.passages) is stays


async def test_a_refuted_call_is_not_kept():
    programs = iter([f"{ROOT}\nlow = math.floor(root - 1)", f"{ROOT}\nlow = math.ceil(root)"])
    model = two_steps(solve=lambda request: fenced(next(programs)))
    apis = (*MATH, api("math.ceil", "Round up."))
    sources = FewPassages()
    run = replace(a_run(model, check="assert low == 4", apis=apis), sources=sources, python="3.11.9")
    assert (await run_task(run)).verdict.outcome == "solved"
    assert [snippet.title for snippet in sources.learned] == ["take the root", "Compute the root of 16"]


async def test_refuted_calls_of_the_solution_are_kept():
    programs = iter([f"{ROOT}\nlow = math.floor(root) + 1", f"{ROOT}\n{FLOOR}"])
    assert len(await learned(two_steps(solve=lambda request: fenced(next(programs))), check="assert low == 4")) == 3


async def test_an_unchecked_program_is_not_kept():
    kept = await learned(two_steps())
    assert [snippet.title for snippet in kept] == ["take the root", "floor it"]


async def test_code_that_makes_an_input_is_not_kept():
    variables = (UserVariable("root", "float"),)
    task = replace(a_run(two_steps(), check="assert low == 4").task, variables=variables)
    assert await learned(two_steps(), check="assert low == 4", task=task) == []
