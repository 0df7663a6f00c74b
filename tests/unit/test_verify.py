"""The forms of a check."""

import pytest

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.pipeline.verify import check_code
from exploracoder_jupyter.types import Task


def passes(check, namespace, name=None):
    code = check_code(Task("t", ("m",), check=check, solution_name=name))
    try:
        exec(compile(code, "<check>", "exec"), dict(namespace))
    except AssertionError:
        return False
    return True


def double(x):
    return 2 * x


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        ("assert x == 3", {"x": 3}, {"x": 4}),
        (">>> x + 1\n4", {"x": 3}, {"x": 4}),
        ("def test_x():\n    assert x == 3", {"x": 3}, {"x": 4}),
    ],
)
def test_assertions_doctests_and_test_functions(check, good, bad):
    assert passes(check, good)
    assert not passes(check, bad)


def test_pairs_call_the_named_function():
    assert passes("1 -> 2\n[1] -> [1, 1]", {"double": double}, "double")
    assert not passes("1 -> 3", {"double": double}, "double")


def test_no_check_is_none():
    assert check_code(Task("t", ("m",))) is None
    assert check_code(Task("t", ("m",), check="  ")) is None


@pytest.mark.parametrize(("check", "name"), [("this is prose, no check", None), ("1 -> 2", None)])
def test_a_check_of_no_known_form_is_one_sentence(check, name):
    with pytest.raises(UsageError) as caught:
        check_code(Task("t", ("m",), check=check, solution_name=name))
    assert caught.value.remedy
