"""Values come back as what they were, or are refused by name; by pickle only where that was asked for."""

import fractions
import math

import pytest

from exploracoder_jupyter.kernel_agent.variable_encoding import VariableTransferError, dump, load


def carried(value, folder):
    dump(["x"], {"x": value}, str(folder))
    return load(str(folder))["x"]


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 10**30, 0.1, math.inf, "ä\n\x00", [], [1, [2.5, "a"]], (1, (2,)), {1, 2}, frozenset("ab"),
        {"a": 1, 2: (3, 4), (5, 6): None}, {"dict": [1]}, {"array": "x.npy"},
    ],
)  # fmt: skip
def test_plain_values(value, tmp_path):
    back = carried(value, tmp_path)
    assert back == value
    assert type(back) is type(value)


def test_arrays_and_scalars_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    given = {"grid": numpy.arange(6, dtype="int16").reshape(2, 3), "flags": [numpy.array([True, False])]}
    back = carried(given, tmp_path)
    assert back["grid"].dtype == "int16"
    numpy.testing.assert_array_equal(back["grid"], given["grid"])
    numpy.testing.assert_array_equal(back["flags"][0], given["flags"][0])
    scalar = carried(numpy.float32(0.1), tmp_path)
    assert type(scalar) is numpy.float32
    assert scalar == numpy.float32(0.1)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy"}
    with pytest.raises(VariableTransferError, match="dtype is object"):
        carried(numpy.array([Odd()], dtype=object), tmp_path)


def test_tables_of_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"n": [1, 2], "x": [0.5, None], "s": ["a", None], "t": pandas.to_datetime(["2026-01-01", "2026-01-02"])},
        index=pandas.Index(["p", "q"], name="key"),
    )
    pandas.testing.assert_frame_equal(carried(frame, tmp_path), frame, check_dtype=False)
    series = pandas.Series([1.5, 2.5], name=("odd", 1))
    pandas.testing.assert_series_equal(carried(series, tmp_path), series)


class Odd:
    pass


@pytest.mark.parametrize("value", [Odd(), [Odd()], {"k": Odd()}, len, type("Text", (str,), {})("x")])
def test_what_cannot_be_carried_is_refused_by_name_and_type(value, tmp_path):
    with pytest.raises(VariableTransferError, match=r"'x' holds a .*, which cannot be sent"):
        carried(value, tmp_path)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(VariableTransferError, match="no variable 'y'"):
        dump(["y"], {}, str(tmp_path))


def pickled(value, folder):
    dump(["x"], {"x": value}, str(folder), pickled=True)
    return load(str(folder), pickled=True)["x"]


def test_with_leave_what_has_no_plain_form_is_pickled(tmp_path):
    back = pickled({"plain": (1, 2), "odd": [fractions.Fraction(1, 3), range(3)]}, tmp_path)
    assert back == {"plain": (1, 2), "odd": [fractions.Fraction(1, 3), range(3)]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.1.pickle", "x.2.pickle", "x.json"]


def test_with_leave_arrays_of_objects_and_odd_tables_are_pickled(tmp_path):
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    assert list(pickled(numpy.array([1, "a"], dtype=object), tmp_path)) == [1, "a"]
    series = pandas.Series([range(2), {1}], name="s")
    assert list(pickled(series, tmp_path)) == [range(2), {1}]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ((i for i in ()), "cannot pickle 'generator' object"),
        (type("Mine", (), {"__module__": "__main__"})(), "Mine is defined in the notebook"),
    ],
)
def test_what_no_pickle_carries_is_refused_by_name(value, why, tmp_path):
    with pytest.raises(
        VariableTransferError, match=rf"'x' holds a .*, which cannot be sent .*\(it cannot be pickled: {why}"
    ):
        pickled(value, tmp_path)


def test_a_pickle_is_read_only_where_that_was_allowed(tmp_path):
    pickled(range(3), tmp_path)
    with pytest.raises(ValueError, match="pickles are not allowed"):
        load(str(tmp_path))
