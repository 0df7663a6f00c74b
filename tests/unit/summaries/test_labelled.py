"""Summaries of xarray's labelled arrays."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray
from xarray.core import indexing

from tests.unit.summaries.described import measure, schema, text


def warmth() -> Any:
    return xarray.DataArray(
        np.arange(60.0).reshape(20, 3),
        dims=("time", "place"),
        coords={
            "time": pd.date_range("2024-01-01", periods=20),
            "place": ["a", "b", "c"],
            "high": ("place", [1, 2, 3]),
            "run": 5,
        },
        name="warmth",
        attrs={"units": "kelvin"},
    )


def weather() -> Any:
    wet = xarray.DataArray([True] * 20, dims="time")
    return xarray.Dataset({"warmth": warmth(), "wet": wet}, attrs={"title": "secret"})


EXPECTED = [
    (
        warmth(),
        [
            "(time: 20, place: 3), dtype float64, 480 bytes, named 'warmth'",
            "values: 0 to 59, mean 29.5",
            "begins: [[0, 1, 2], [3, 4, 5], [6, 7, 8], ...]",
            "coordinate time: (time) datetime64[",
            "2024-01-01 to 2024-01-20",
            "coordinate place: (place) ",
            "coordinate high: (place) int64, 1 to 3",
            "coordinate run: int64, all 5",
            "attrs: units=kelvin",
        ],
    ),
    (
        weather(),
        [
            "(time: 20, place: 3), 2 variables, ",
            "warmth: (time, place) float64, 0 to 59, mean 29.5",
            "wet: (time) bool, 100 % True",
            "attrs: title=secret",
        ],
    ),
    (warmth().variable, ["(time: 20, place: 3), dtype float64", "values: 0 to 59"]),
    (warmth().stack(both=("time", "place")), ["(both: 60)", "coordinate both: (both) object"]),
    (warmth().where(warmth() > 5), ["values: 6 NaN (10 %), 6 to 59"]),
    (xarray.DataArray([]), ["(dim_0: 0), dtype float64, 0 bytes"]),
    (xarray.DataArray(np.zeros((4000, 2500))), ["sampled 20,000 of 10,000,000"]),
    (xarray.Dataset({f"v{place}": 1 for place in range(50)}), ["50 variables", "... 10 more variables"]),
]


@pytest.mark.parametrize(("value", "parts"), EXPECTED, ids=lambda value: type(value).__name__)
def test_a_labelled_array_is_described_unchanged(value: Any, parts: list[str]) -> None:
    before = value.copy(deep=True)
    summary = text(value)
    for part in parts:
        assert part in summary
    assert value.identical(before)


def test_trees_are_described_by_their_groups() -> None:
    summary = text(xarray.DataTree.from_dict({"/": weather(), "/deep": weather()}))
    assert summary.splitlines() == [
        "2 groups",
        "/: (time: 20, place: 3) warmth, wet",
        "/deep: (time: 20, place: 3) warmth, wet",
    ]


def test_with_schema_values_are_left_out() -> None:
    lines = schema(weather()).splitlines()
    assert lines[1:3] == ["warmth: (time, place) float64", "wet: (time) bool"]
    assert lines[-3:] == ["coordinate high: (place) int64", "coordinate run: int64", "attrs: title"]


def test_what_is_in_a_file_is_not_loaded() -> None:
    class File(indexing.ExplicitlyIndexedNDArrayMixin):  # type: ignore[name-defined, misc]
        shape, dtype = (1000,), np.dtype("f8")

        def __getitem__(self, key: object) -> None:
            raise AssertionError("loaded")

        def get_duck_array(self) -> None:
            raise AssertionError("loaded")

    array = xarray.DataArray(xarray.Variable("x", indexing.LazilyIndexedArray(File())))
    assert text(array) == "(x: 1,000), dtype float64, 8.0 kB\nvalues: not loaded"
    assert "v: (x) float64, not loaded" in text(xarray.Dataset({"v": array}))


def test_statistics_are_left_out_when_it_is_late() -> None:
    assert "mean" not in text(weather(), deadline=0.0)


def test_measures_name_the_sizes_and_notice_new_variables() -> None:
    data = weather()
    assert measure(warmth()) == "20 x 3 of float64"
    before = measure(data)
    data["new"] = 1
    assert before.startswith("20 x 3, 2 variables #")
    assert measure(data) != before
