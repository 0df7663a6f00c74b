"""Values come back as what they were, or are refused by name; never by pickle."""

import math

import pytest

from exploracoder_jupyter.inside.variables import CannotSend, dump, load


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
    with pytest.raises(CannotSend, match=r"'x' holds a .*, which cannot be sent"):
        carried(value, tmp_path)


def test_arrays_of_objects_are_refused(tmp_path):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(CannotSend, match="dtype is object"):
        carried(numpy.array([Odd()], dtype=object), tmp_path)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(CannotSend, match="no variable 'y'"):
        dump(["y"], {}, str(tmp_path))


def test_nothing_but_plain_files_is_written(tmp_path):
    numpy = pytest.importorskip("numpy")
    carried([numpy.zeros(2), 1], tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy"}
