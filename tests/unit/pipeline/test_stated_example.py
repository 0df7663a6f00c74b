"""What the text of a task states: examples that can be compared, and the variable for the result."""

import math

import pandas
import pytest

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.exploring.selection import missing_result
from exploracoder_jupyter.pipeline.solving.user_check import stated_check


def found(text, uses=(), **more):
    return stated_check(Task(text, ("m",), uses=uses, **more))


def passes(check, **names):
    try:
        exec(check.code, names)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "given", "result"),
    [
        ("Write `f`. Example: f(3) -> 9", 3, 9),
        ("For instance `f([1, 2])` should return `[2, 1]`.", [1, 2], [2, 1]),
        ("f('x(') gives {'a': 1}, whatever the order", "x(", {"a": 1}),
        ("`f(data)` returns (1, 2) for the data", "data", (1, 2)),
        ("Write f such that f([1, 2]) == 3.", [1, 2], 3),
        ("f([1, 2]) = 3", [1, 2], 3),
        ("`f(2)` yields `[4]`, for instance", 2, [4]),
        ("f(2) would be equal to 4", 2, 4),
        ("With x = [1, 2], `f(x)` gives 3.", [1, 2], 3),
        ("If `x` is 4, then f(x) should be 16.", 4, 16),
        ("| x | f(x) |\n|---|---|\n| 4 | 16 |", 4, 16),
        ("| call | result |\n|---|---|\n| `f(4)` | `16` |", 4, 16),
        ("f(np.pi) is 9", math.pi, 9),
        ("f(pd.Timedelta(1)) gives 1", pandas.Timedelta(1), 1),
    ],
)
def test_a_literal_call_is_run_and_compared(text, given, result):
    check = found(text, uses=("data",))
    assert passes(check, f=lambda x: result if x == given else None, data="data")
    assert not passes(check, f=lambda x: "another", data="data")


def test_a_table_of_inputs_and_outputs_is_compared():
    check = found("| a | b | output |\n|:-|-|-:|\n| 1 | 2 | 3 |\n| 2 | 2 | 4 |", solution_name="add")
    assert passes(check, add=lambda a, b: a + b)
    assert not passes(check, add=lambda a, b: a * b + 1)


def test_an_example_uses_the_requested_function():
    assert stated_check(Task("Write `root`. Before it, `other(16)` -> `4.0`", ("m",), solution_name="root")) is None


@pytest.mark.parametrize(
    ("task", "names", "missing"),
    [
        ("Store the mean of each plan in `customers` in the dict `rmst`.", ["rmst_by_plan"], "rmst"),
        ("Store the sum in `total`, and keep the labels in a list `labels`.", ["total"], "labels"),
        ("Store the sum in `total`.", ["total"], ""),
        ("Define a function `mean` of `rows`.", ["x"], ""),
    ],
)
def test_the_result_variable_is_found_in_the_task(task, names, missing):
    assert missing_result(task, names) == missing


def test_part_of_what_a_call_returns_is_compared():
    class Sized:
        size = -1.5

    check = found("so that f(2).size is -1.5")
    assert passes(check, f=lambda x: Sized)
    Sized.size = 1.5
    assert not passes(check, f=lambda x: Sized)


def test_several_results_are_compared():
    check = found("f(1) -> 2\nf(2) -> 'two'")
    assert passes(check, f={1: 2, 2: "two"}.get)
    assert not passes(check, f={1: 2, 2: "three"}.get)


def test_a_decimal_is_compared_to_its_places():
    assert passes(found("f(2) -> 1.414"), f=lambda x: x**0.5)
    assert not passes(found("f(2) -> 1.415"), f=lambda x: x**0.5)


@pytest.mark.parametrize(
    "text",
    [
        "f(3) is 3 rows long",
        "the smallest n for which f(n) is 0",
        "`f(3)` has the rows A and B",
        "f(3) returns a list",
        "f(3) returns 1, 2",
        "compute 3",
        "f(n) = 3 for all n",
        "call f(x, y) with size = 3",
        "| name | age |\n|---|---|\n| f(1) | 3 |",
        ">>> f(3)",
    ],
)
def test_what_cannot_be_compared_is_no_example(text):
    assert found(text) is None


@pytest.mark.parametrize(
    "text", ["Write f.\n\n    >>> value = f(3)\n    >>> value\n    9\n", "It holds that\n`assert f(3) == 9`"]
)
def test_doctests_and_assertions_decide_by_themselves(text):
    assert passes(found(text), f=lambda x: x * x)
    assert not passes(found(text), f=lambda x: x)
