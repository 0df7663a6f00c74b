"""The forms of a check."""

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.solving.user_check import build_check, check_code

UNITTEST = "import unittest\nclass Three(unittest.TestCase):\n    def test_x(self):\n        self.assertEqual(x, 3)"


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
        ("x == 3", {"x": 3}, {"x": 4}),
        ("y = x\nbool(y - 4)", {"x": 3}, {"x": 4}),
        ("x == 3\nx < 9", {"x": 3}, {"x": 4}),
        ("assert x\nx == 3", {"x": 3}, {"x": 4}),
        ("def check():\n    assert x == 3\ncheck()", {"x": 3}, {"x": 4}),
        ("def assert_three(y):\n    if y != 3:\n        raise AssertionError\nassert_three(x)", {"x": 3}, {"x": 4}),
        ("class TestX:\n    def test_x(self):\n        assert x == 3", {"x": 3}, {"x": 4}),
        (UNITTEST, {"x": 3}, {"x": 4}),
        (UNITTEST + "\nif __name__ == '__main__':\n    unittest.main()", {"x": 3}, {"x": 4}),
        (
            "if __name__ == '__main__':\n    assert x == 3",
            {"x": 3, "__name__": "__main__"},
            {"x": 4, "__name__": "__main__"},
        ),
        ('def test_x():\n    """\n    >>> x\n    """\n    assert x == 3', {"x": 3}, {"x": 4}),
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
def test_a_check_of_unknown_form_is_one_sentence(check, name):
    with pytest.raises(UsageError) as caught:
        check_code(Task("t", ("m",), check=check, solution_name=name))
    assert caught.value.remedy


@pytest.mark.parametrize(
    "check",
    [
        "# f must work",
        "y = 3",
        "'f works'",
        "x == 3, 'three'",
        "assert (x == 3, 'three')",
        "def check():\n    assert x == 3",
        "def test_x():\n    x == 3",
        "class Checks:\n    def test_x(self):\n        assert x == 3",
        ">>> import math",
        ">>> x  # doctest: +SKIP\n3",
    ],
)
def test_a_check_that_cannot_fail_is_refused(check):
    with pytest.raises(UsageError, match="asserts nothing"):
        check_code(Task("t", ("m",), check=check))


@pytest.mark.parametrize(
    "check",
    [
        "async def test_x():\n    assert x == 3",
        "def test_x(tmp_path):\n    assert x == 3",
        "class TestX:\n    async def test_x(self):\n        assert x == 3",
        "class TestX:\n    def test_x(self, capsys):\n        assert x == 3",
        "@pytest.fixture\ndef y():\n    return 3\ndef test_x():\n    assert x == 3",
        "class TestX:\n    def setup_method(self):\n        self.y = 3\n    def test_x(self):\n        assert x == 3",
        "@pytest.mark.parametrize('y', [3])\ndef test_x(y=3):\n    assert x == 3",
    ],
)
def test_tests_that_need_a_runner_are_refused(check):
    with pytest.raises(UsageError, match="not run here"):
        check_code(Task("t", ("m",), check=check))


def test_a_syntax_error_in_a_check_is_reported():
    with pytest.raises(UsageError, match=r"syntax error in line 2: "):
        check_code(Task("x", ("json",), check="import math\nassert x ==\nassert y"))


def test_inconsistent_doctest_prompts_are_refused():
    with pytest.raises(UsageError, match="doctests cannot be read"):
        check_code(Task("t", ("m",), check=">>> if x:\n... y\n  >>>x\n"))


def test_functions_of_the_solution_are_no_tests():
    def test_helper(needed):
        raise ValueError(needed)

    assert passes("def test_x():\n    assert x == 3", {"x": 3, "test_helper": test_helper})


@pytest.mark.parametrize(("check", "shown"), [("double(2) == 5", "4"), ("{}.get(double(1))", "None")])
def test_a_failed_expression_shows_what_it_gave(check, shown):
    with pytest.raises(AssertionError) as caught:
        exec(check_code(Task("t", ("m",), check=check)), {"double": double})
    assert check in str(caught.value) and shown in str(caught.value)


def test_a_named_function_must_be_there():
    code = build_check(Task("t", ("m",), solution_name="double")).code
    exec(code, {"double": double})
    for namespace in ({}, {"double": 2}):
        with pytest.raises(AssertionError, match="no function double"):
            exec(code, namespace)
    assert build_check(Task("t", ("m",))) is None
