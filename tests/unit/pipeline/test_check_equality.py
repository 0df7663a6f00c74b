"""What a check compares: content where `==` has no truth, copies of the user's variables, no object that equals all."""

import math
from unittest.mock import ANY

import numpy as np
import pandas as pd
import polars as pl
import pytest

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernel_agent.value_equality import values_equal
from exploracoder_jupyter.pipeline.solving.user_check import build_check, check_code

NAN = math.nan
FRAME = pd.DataFrame({"a": [1.0, NAN], "b": ["x", None]})


class Everything:
    def __eq__(self, other):
        return True

    __hash__ = None


class Truthy(Everything):
    def __eq__(self, other):
        return 1


class Five(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Bag(list):
    def __eq__(self, other):
        return True

    __hash__ = None


class Wallet:
    """It equals whole numbers by its own rule, as a program may be asked to."""

    def __init__(self, coins):
        self.coins = coins

    def __eq__(self, other):
        return self.coins == other if isinstance(other, int) else NotImplemented

    __hash__ = None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (FRAME.copy(), FRAME),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1.0, 2.0]})),
        (pd.Series([1, NAN]), pd.Series([1, NAN])),
        (pd.MultiIndex.from_tuples([(1, "a")]), pd.MultiIndex.from_tuples([(1, "a")])),
        (pd.array([1, None]), pd.array([1, None])),
        (pd.NaT, pd.NaT),
        (pd.NA, pd.NA),
        (np.array([1, NAN]), np.array([1, NAN])),
        (np.array([1, "a", NAN], dtype=object), np.array([1, "a", NAN], dtype=object)),
        (np.array([3]), 3),
        (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[ns]")),
        (np.array(["NaT"], "M8[D]"), np.array(["NaT"], "M8[ns]")),
        (np.array(["2020-01-01"], "M8[ns]"), np.datetime64("2020-01-01")),
        (np.array([1, 2]), [1, 2]),
        (np.float32(NAN), NAN),
        (pl.DataFrame({"a": [1.0, NAN, None]}), pl.DataFrame({"a": [1.0, NAN, None]})),
        ([(NAN, 1)], [(NAN, 1)]),
        ({"a": np.array([1, 2]), "b": [FRAME]}, {"b": [FRAME.copy()], "a": np.array([1, 2])}),
        (3, np.int64(3)),
        (True, 1),
        ({1, 2}, {2, 1}),
        (Wallet(3), 3),
    ],
)
def test_equal_content_is_equal(given, wanted):
    assert values_equal(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (FRAME.assign(a=[1, 2]), FRAME),
        (FRAME.rename(columns={"a": "c"}), FRAME),
        (FRAME.iloc[::-1], FRAME),
        (pd.Series([1, 2]), 1),
        (pd.Series([1, 1]), pd.DataFrame({"a": [1, 1]})),
        (np.array([1, 1]), 1),
        (np.array([5]), np.array([5], "M8[ns]")),
        (np.array([5, 6], "m8[ns]"), np.array([5, 6])),
        (np.array([5], "m8[ns]"), np.array([5], "M8[ns]")),
        (np.array([5], object), np.array([5], "M8[ns]")),
        (np.array([[1, 2]]), np.array([1, 2])),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]})),
        ([1, 2], (1, 2)),
        ({"a": 1}, {"a": 1, "b": 2}),
        (NAN, 1.0),
        ("3", 3),
        (Wallet(4), 3),
    ],
)
def test_other_content_is_not(given, wanted):
    assert not values_equal(given, wanted)


@pytest.mark.parametrize(
    "wanted", [3, "a", None, NAN, [3], {"a": 3}, (1, 2), np.array([1, 2]), FRAME, pl.Series([1, 2])]
)
@pytest.mark.parametrize("liar", [Everything(), Truthy(), ANY, Five(5), Bag([5])])
def test_what_says_that_it_equals_everything_equals_nothing(liar, wanted):
    assert not values_equal(liar, wanted)
    assert not values_equal([liar], [wanted])
    assert not values_equal({"a": liar}, {"a": wanted})


def passes(check, program="", uses=(), text="do it", name=None, **variables):
    """Whether the check passes after the program, in the order in which a branch runs them."""
    after = build_check(Task(text, ("m",), uses=uses, check=check, solution_name=name))
    exec(after.before, variables)
    exec(program, variables)
    try:
        exec(after.code, variables)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    "check",
    [
        "assert result == golden",
        "result == golden",
        "assert golden == result",
        "assert not result != golden",
        "assert result == golden and len(golden) == 2",
        "assert all(a == b for a, b in [(result, golden)])",
        "assert 1 if result == golden else 0",
        "def test_result():\n    assert result == golden",
        "from __future__ import annotations\nassert result == golden",
        "def check():\n    if result == golden:\n        return\n    raise AssertionError\ncheck()",
    ],
)
def test_frames_are_compared_with_a_golden_one(check):
    assert passes(check, "result = golden.copy()", ("golden",), golden=FRAME)
    assert not passes(check, "result = golden.assign(a=0)", ("golden",), golden=FRAME)


@pytest.mark.parametrize(
    "program",
    [
        "result = golden = 0",
        "golden.clear(); result = golden",
        "golden.append(3); result = golden",
        "result = golden; golden[0] = 9",
        "golden = []; result = []",
        "class Golden(list):\n    __eq__ = lambda self, other: True\nresult = golden = Golden()",
        "result = type('Any', (), {'__eq__': lambda self, other: True})()",
        "result = [type('Any', (), {'__eq__': lambda self, other: True})(), 2]",
        "del _explora_kept['golden']; result = golden = 0",
        "_explora_same = lambda **sides: True; result = 0",
        "result = 0\ndef same(given, wanted): return True",
    ],
)
@pytest.mark.parametrize("check", ["assert result == golden", "result == golden", "golden == result"])
def test_changing_the_golden_value_passes_nothing(program, check):
    given = {"golden": [1, 2]}
    try:
        assert not passes(check, program, ("golden",), **given)
    except KeyError as error:  # the copy is gone: that is no pass either
        assert error.args == ("golden",)


def test_the_users_own_result_is_not_golden():
    assert passes("assert total == 5", "total = 5", ("total",), total=4)
    assert passes("assert df.shape == (2, 3)", "df['c'] = 1", ("df",), text="add c to df", df=FRAME.copy())
    assert passes("assert total == sum(parts)", "total = 3", ("parts", "total"), parts=[1, 2], total=9)


def test_what_the_task_names_is_left_to_programs():
    assert passes("assert 3 == len(bag)", "bag.append(3)", ("bag",), text="put 3 into bag", bag=[1, 2])
    assert passes("result == bag", "bag.append(3); result = bag", ("bag",), text="put 3 into bag", bag=[1, 2])


def test_golden_values_of_pairs_and_calls_are_kept():
    wrong, right = "golden = f = lambda x: 0", "f = lambda x: x + 1"
    assert passes("1 -> golden", right, ("golden",), name="f", golden=2)
    assert not passes("1 -> golden", wrong, ("golden",), name="f", golden=2)
    close = "import math\nassert math.isclose(result, golden)"
    assert not passes(close, "result = golden = 5", ("golden",), golden=2)


def test_an_uncopyable_value_is_kept_by_name():
    after = build_check(Task("do it", ("m",), uses=("golden", "other"), check="a == golden\nb == other"))
    variables = {"golden": (item for item in ()), "other": [1], "same": values_equal}
    given = variables["golden"]
    with pytest.raises(TypeError, match=r"no copy could be made of golden \(TypeError\)"):
        exec(after.before, variables)
    exec("a = golden; b = [1]; golden = 0; other.append(2)", variables)
    exec(after.code, variables)
    assert variables["golden"] is given


@pytest.mark.parametrize(
    "check",
    [
        "want = [1, 2]\nassert {}",
        "import numpy\nwant = numpy.array([1, 2])\nassert {}",
        "one: int = 1\nwant = list(n for n in (one, one + 1))\nassert {}",
        "for want in [[1, 2]]:\n    assert {}",
    ],
)
@pytest.mark.parametrize("sides", ["result == want", "want == result"])
def test_both_sides_of_a_check_are_wanted(check, sides):
    assert passes(check.format(sides), result=pd.Series([1, 2]))
    assert not passes(check.format(sides), result=pd.Series([1, 3]))


@pytest.mark.parametrize(
    "check", ["assert sum([2, 3]) == result", "want = len(str(result)) * 0 + 5\nassert want == result", "5 == result"]
)
def test_a_result_that_equals_everything_fails(check):
    assert passes(check, result=5)
    assert not passes(check, result=Everything())


def test_a_name_bound_to_results_is_not_wanted():
    for bind in ("want = 5\nwant = result", "want = 5\nwant += result", "for want in [result]: pass"):
        with pytest.raises(AssertionError, match="the left side is 4"):
            exec(check_code(Task("t", ("m",), check=f"{bind}\nassert want == 5")), {"result": 4 - ("+=" in bind) * 5})


def test_a_check_may_want_anything():
    check = "from unittest.mock import ANY\nassert {}"
    assert passes(check.format("result == {'id': ANY, 'n': 3}"), result={"id": 9, "n": 3})
    assert passes(check.format("ANY == result"), result=4)


def test_functions_used_by_a_check_are_restored():
    def double(x):
        return 2 * x

    assert not passes("assert result == double(4)", "double = lambda x: 5; result = 5", ("double",), double=double)
    assert passes("assert result == math.pi", "result = math.pi", ("math",), math=math)


@pytest.mark.parametrize(
    ("check", "values", "message"),
    [
        ("assert x == 3", {"x": 4}, "x == 3 is not true: the left side is 4"),
        ("assert 3 == x", {"x": 4}, "3 == x is not true: the right side is 4"),
        ("assert x == 3, 'no'", {"x": 4}, "no"),
        ("assert x == 3 and y", {"x": 3, "y": 0}, "x == 3 and y is not true"),
        ("assert x == []", {"x": "a" * 9999}, "x == [] is not true: the left side is '" + "a" * 299),
    ],
)
def test_a_failed_equality_says_what_came(check, values, message):
    with pytest.raises(AssertionError) as caught:
        exec(check_code(Task("t", ("m",), check=check)), dict(values))
    assert str(caught.value) == message


def test_equality_with_itself_still_excludes_nan():
    assert not passes("assert x == x", "x = float('nan')")
    assert passes("assert x == x", "x = 1")


def test_elementwise_comparison_stays_elementwise():
    assert passes("assert (x == 3).all() and (x != 4).any()", x=np.array([3, 3]))
    assert not passes("assert (x == 3).all()", x=np.array([3, 4]))


def test_a_check_without_equality_stays():
    assert check_code(Task("t", ("m",), check="assert x > 3  # so")) == "assert x > 3  # so"
