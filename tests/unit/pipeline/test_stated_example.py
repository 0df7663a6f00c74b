"""Which examples of a task can be compared, and whether a run gave what is stated."""

import pytest

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.solving.user_check import stated_check


def found(text, uses=()):
    return stated_check(Task(text, ("m",), uses=uses))


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
    ],
)
def test_a_call_with_a_literal_is_run_and_compared(text, given, result):
    check = found(text, uses=("data",))
    assert passes(check, f=lambda x: result if x == given else None, data="data")
    assert not passes(check, f=lambda x: "another", data="data")


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


@pytest.mark.parametrize(
    "text",
    [
        "f(3) is 3 rows long",
        "the smallest n for which f(n) is 0",
        "`f(3)` has the rows A and B",
        "f(3) returns a list",
        "f(3) returns 1, 2",
        "compute 3",
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
