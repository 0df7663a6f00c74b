"""Units of an evaluation on real kernels: what is counted as solved is solved, and strategies never see the tests."""

import json
from dataclasses import replace
from functools import partial

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.evaluation import Problem, Unit, run_unit, verify_problem
from exploracoder_jupyter.evaluation.scoring import run_hidden_tests, score_solution
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.trace import load
from tests.patience import patience
from tests.toy_model import offer_toy, reply

SPREAD = "from statistics import pstdev\nspread = pstdev(ages)"
MIDDLE = "from statistics import median\n\ndef middle(values):\n    return median(values)"
PROBLEMS = (
    Problem(
        "spread",
        "Compute the population standard deviation of `ages` and store it in `spread`.",
        ("statistics",),
        ("import math\nassert math.isclose(spread, 8.16496580927726)", "assert isinstance(spread, float)"),
        setup="ages = [20, 30, 40]",
        solution=SPREAD,
        gold_apis=(("statistics.pstdev",),),
    ),
    Problem(
        "middle",
        "Write a function `middle(values)` that returns the median.",
        ("statistics",),
        ("assert middle([3, 1, 2]) == 2", "assert middle([4, 1, 3, 2]) == 2.5"),
        solution_name="middle",
        solution=MIDDLE,
        gold_apis=(("statistics.median", "statistics.median_low"),),
    ),
)
CHEATS = {
    "ends the process": "import os\ndef middle(values):\n    os._exit(0)",
    "ends the process later": "import os, threading\nthreading.Timer(0.2, os._exit, [0]).start()\nmiddle = max",
    "leaves the program": "import sys\ndef middle(values):\n    sys.exit(0)",
    "equals everything": "class Any:\n    def __eq__(self, other):\n        return True\nmiddle = lambda values: Any()",
    "is a number that equals everything": (
        "class Any(float):\n    def __eq__(self, other):\n        return True\n    __hash__ = float.__hash__\n"
        "middle = lambda values: Any(7)"
    ),
    "replaces AssertionError": (
        "import builtins\nclass Quiet(BaseException):\n    pass\nbuiltins.AssertionError = Quiet\nmiddle = max"
    ),
    "replaces exec": "import builtins\nbuiltins.exec = builtins.compile = lambda *a, **k: None\nmiddle = max",
    "replaces __import__": "import builtins\nbuiltins.__import__ = lambda *a, **k: None\nmiddle = max",
    "replaces __build_class__": "import builtins\nbuiltins.__build_class__ = None\nmiddle = max",
    "drops the code of cells": (
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])\nmiddle = max"
    ),
    "rewrites assertions": (
        "import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Assert(self, node):\n        return ast.Pass()\n"
        "get_ipython().ast_transformers.append(Drop())\nmiddle = max"
    ),
    "replaces the running of cells": (
        "shell = type(get_ipython())\nasync def run_code(self, *a, **k):\n    return False\n"
        "shell.run_code = run_code\nmiddle = max"
    ),
    "reads the history": (
        "import re\ndef middle(values):\n    found = re.findall(r'expected=([\\d.]+)', '\\n'.join(map(str, In)))\n"
        "    return eval(found[0]) if found else None"
    ),
    "reads the source of frames": (
        "import inspect, re\ndef middle(values):\n    text = str([frame.code_context for frame in inspect.stack()])\n"
        "    return eval((re.findall(r'expected=([\\d.]+)', text) or ['None'])[0])"
    ),
    "inspects frames": (
        "import sys\ndef middle(values):\n    constants = sys._getframe(1).f_code.co_consts\n"
        "    return [one for one in constants if type(one) in (int, float)][-1]"
    ),
}
HELPERS = {
    "patches an assertion": "import numpy.testing\nnumpy.testing.assert_allclose = lambda *a, **k: None\nvalue = 1.0",
    "patches unittest": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nvalue = 1.0",
    "patches the comparison": "import math\nmath.isclose = lambda *a, **k: True\nvalue = 1.0",
    "replaces the module": (
        "import sys, types\nsys.modules['math'] = types.SimpleNamespace(isclose=lambda *a: True)\nvalue = 1.0"
    ),
}


FORKS = Settings(sandbox=Sandbox(branching="fork"))


@pytest.fixture
async def start(tmp_path):
    async with open_siblings(FORKS.sandbox, workdir=tmp_path) as siblings:
        yield await siblings.root()


async def test_reference_solutions_pass_and_empty_ones_fail(tmp_path):
    problem = replace(PROBLEMS[0], folder=tmp_path)
    assert await verify_problem(problem, FORKS) == ""
    right = await score_solution(problem, problem.solution, FORKS)
    assert (right.tests.ran, right.tests.passed, right.tests.failure) == (True, 2, "")
    assert (right.recall, right.precision, right.missing_apis) == (1.0, 1.0, ())
    assert (await score_solution(problem, "", FORKS)).tests.failure == "no solution"
    missing = f"{problem.solution}\nimport statistics\nstatistics.no_such.name"
    assert (await score_solution(problem, missing, FORKS)).missing_apis == ("statistics.no_such.name",)


async def test_a_useless_or_revealing_problem_is_found(tmp_path):
    problem = replace(PROBLEMS[1], folder=tmp_path)
    assert "empty solution" in await verify_problem(replace(problem, tests=("1 == 1",)), FORKS)
    assert "1 of 2" in await verify_problem(replace(problem, solution="def middle(values):\n    return 2"), FORKS)
    assert "no reference" in await verify_problem(replace(problem, solution=None), FORKS)
    (tmp_path / "problems.jsonl").write_text(json.dumps({"solution": MIDDLE}))
    assert "problems.jsonl" in await verify_problem(problem, FORKS)


async def test_a_solution_that_manipulates_tests_fails(start):
    problem = replace(PROBLEMS[1], tests=PROBLEMS[1].tests[:1])
    for cheat, code in CHEATS.items():
        outcome = await run_hidden_tests(start, problem, code, timeout=patience(4))
        assert (outcome.passed, bool(outcome.failure)) == (0, True), cheat
    right = await run_hidden_tests(start, problem, MIDDLE, timeout=patience(20))
    assert (right.passed, right.failure) == (1, "")


async def test_assertions_that_a_solution_replaces_are_restored(start):
    tests = (
        "import numpy.testing\nnumpy.testing.assert_allclose(value, 2.0)",
        "import unittest\nunittest.TestCase().assertEqual(value, 2.0)",
        "import math\nassert math.isclose(value, 2.0)",
    )
    for cheat, code in HELPERS.items():
        outcome = await run_hidden_tests(start, replace(PROBLEMS[1], tests=tests), code, timeout=patience(20))
        assert (outcome.ran, outcome.passed) == (True, 0), cheat
    right = await run_hidden_tests(start, replace(PROBLEMS[1], tests=tests), "value = 2.0", timeout=patience(20))
    assert (right.passed, right.failure) == (3, "")


FAILURES = {
    "while True: pass": "timeout",
    "import os\nos._exit(0)": "died",
    "1 / 0": "ZeroDivisionError",
    "middle = max": "wrong result",
    "def middle(values):\n    raise KeyError('x')": "KeyError",
    "def middle(values):": "SyntaxError",
}


async def test_failures_are_named_and_isolated(start):
    for code, failure in FAILURES.items():
        outcome = await run_hidden_tests(start, PROBLEMS[1], code, timeout=2 if failure == "timeout" else patience(20))
        assert outcome.failure == failure
    problem = replace(PROBLEMS[1], tests=("values.append(1)\nassert len(values) == 1",) * 2)
    assert (await run_hidden_tests(start, problem, "values = []", timeout=patience(20))).passed == 2


def answering(solution):
    """Reply to each prompt with what it asks for; the code is always this one."""

    def write(prompt, index):
        if '"subtasks"' in prompt:
            return json.dumps({"subtasks": ["Compute the result"]})
        if '"apis"' in prompt or '"planners"' in prompt:
            return json.dumps({"apis": ["statistics.median"], "planners": []})
        return f"```python\n{solution}\n```"

    return partial(reply, write=write)


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    return {
        "exploration": {"candidates": 1, "planners": 0},
        "endpoint": {"retries": 0, "model": "toy"},
        "sandbox": {"branching": "fork"},
    }


async def test_a_unit_hides_its_tests(httpserver, settings, tmp_path):
    prompts = []
    answer = answering(SPREAD)

    def record(request):
        prompts.append(request.data.decode())
        return answer(request)

    settings["endpoint"]["base_url"] = offer_toy(httpserver, record)
    unit = Unit(replace(PROBLEMS[0], folder=tmp_path), settings=settings)
    result = await run_unit(unit, tmp_path / "results")
    assert (result.fault, result.failure, result.passed, result.ran) == ("", "", True, True)
    assert (result.tests_passed, result.tests, result.code, result.model) == (2, 2, SPREAD, "toy")
    assert result.calls == len(prompts)
    assert (result.recall, result.precision, result.unit) == (1.0, 1.0, unit.digest)
    assert not any("isclose" in prompt or "isinstance(spread" in prompt for prompt in prompts)
    assert any("ages = [20, 30, 40]" in prompt for prompt in prompts)
    usage = load(tmp_path / "results" / result.trace)[-1].event.usage
    assert usage.executions > 0 and usage.tokens > 0 and usage.seconds > 0
    spent = Usage(result.calls, result.prompt_tokens, result.completion_tokens, result.seconds, result.executions)
    assert spent == usage


async def test_live_variables_are_known_by_their_schema_alone(httpserver, settings, tmp_path):
    prompts = []
    answer = answering("total = float(sum(sales['price']))")

    def record(request):
        prompts.append(request.data.decode())
        return answer(request)

    settings["endpoint"]["base_url"] = offer_toy(httpserver, record)
    problem = Problem(
        "total",
        "Add up the prices in `sales` as `total`.",
        ("pandas",),
        ("assert total == 41.5",),
        setup="import pandas as pd\nsales = pd.DataFrame({'price': [11.25, 30.25]})  # unseen",
        folder=tmp_path,
        live=("sales",),
        check="assert total > 40",
    )
    result = await run_unit(Unit(problem, "direct", settings=settings), tmp_path / "results")
    assert (result.fault, result.failure, result.passed) == ("", "", True)
    assert "float64" in prompts[0]
    assert not any("unseen" in prompt or "41.5" in prompt for prompt in prompts)


async def test_failures_of_a_unit_are_distinguished(httpserver, settings, tmp_path):
    settings["endpoint"]["base_url"] = offer_toy(httpserver, answering("def middle(values):\n    return 2"))
    problem = replace(PROBLEMS[1], folder=tmp_path)
    wrong = await run_unit(Unit(problem, settings=settings), tmp_path / "results")
    assert (wrong.failure, wrong.tests_passed, wrong.ran, wrong.fault) == ("wrong result", 1, True, "")
    spent = await run_unit(Unit(problem, settings={**settings, "budget": {"tokens": 1}}), tmp_path / "results")
    assert (spent.failure, spent.fault, spent.passed) == ("budget", "", False)
    broken = await run_unit(Unit(replace(problem, setup="1 / 0"), settings=settings), tmp_path / "results")
    assert (broken.failure, broken.calls) == ("fault", 0)
    assert "ZeroDivisionError" in broken.fault
    settings["endpoint"]["base_url"] = "http://127.0.0.1:9/v1"
    unreachable = await run_unit(Unit(problem, settings=settings), tmp_path / "results")
    assert (unreachable.failure, unreachable.fault) == ("endpoint", "")
