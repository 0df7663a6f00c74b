"""Which examples of a task can be compared, and whether a run gave what is stated."""

import pytest

from exploracoder_jupyter.core.types import ErrorInfo, Observation, Task
from exploracoder_jupyter.strategies.parts.stated_example import StatedExample, find_example


def found(text, uses=()):
    return find_example(Task(text, ("m",), uses=uses))


@pytest.mark.parametrize(
    ("text", "call", "result"),
    [
        ("Write `f`. Example: f(3) -> 9", "f(3)", "9"),
        ("For instance `f([1, 2])` should return `[2, 1]`.", "f([1, 2])", "[2, 1]"),
        ("f('x(') gives {'a': 1}, whatever the order", "f('x(')", "{'a': 1}"),
        ("so that f(2).size is -1.5", "f(2).size", "-1.5"),
        ("`f(data)` returns (1, 2) for the data", "f(data)", "(1, 2)"),
    ],
)
def test_a_call_with_a_literal_is_run_and_compared(text, call, result):
    assert found(text, uses=("data",)) == StatedExample(f"print(repr({call}))", (result,))


def test_several_results_are_compared_in_order():
    example = found("f(1) -> 2\nf(2) -> 'two'")
    assert example.code.splitlines() == ["print(repr(f(1)))", "print(repr(f(2)))"]
    assert example.came_out(Observation("ok", text="working\n2\n'two'\n"))
    assert not example.came_out(Observation("ok", text="2\n'three'"))
    assert not example.came_out(Observation("ok", text="'two'"))


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


def test_doctests_and_assertions_decide_by_themselves():
    session = found("Write f.\n\n    >>> value = f(3)\n    >>> value\n    9\n")
    names = {"f": lambda x: x * x}
    exec(session.code, names)
    with pytest.raises(AssertionError):
        exec(session.code, {"f": lambda x: x})
    check = found("It holds that\n`assert f(3) == 9`")
    exec(check.code, names)
    assert check.came_out(Observation("ok"))
    assert not check.came_out(Observation("error", error=ErrorInfo("AssertionError", "")))
