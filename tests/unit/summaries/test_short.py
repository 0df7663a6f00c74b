"""How values within values are described."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter

SMALL_VALUES = [
    (np.array([1, 2]), "numpy.ndarray: [1, 2] of int64"),
    (np.array([[1, 2], [3, 4]]), "numpy.ndarray: [[1, 2], [3, 4]] of int64"),
    (np.array([0.1], "float32"), "numpy.ndarray: [0.1] of float32"),
    (pd.Series([1, 2]), "pandas.Series: [1, 2] of int64"),
    (pd.Series([3, 1], index=["v", "w"]), "pandas.Series: {v: 3, w: 1} of int64"),
    (pd.Index([5, 7]), "pandas.Index: [5, 7] of int64"),
    (pd.MultiIndex.from_tuples([("x", 1)]), "pandas.MultiIndex: [(x, 1)] of object"),
    (pa.array([1, None]), "pyarrow.Int64Array: [1, null] of int64"),
]


@pytest.mark.parametrize(("value", "expected"), SMALL_VALUES, ids=lambda value: type(value).__name__)
def test_small_values_are_described_by_their_content(value: Any, expected: str) -> None:
    short = ShortFormatter(apart=True, letters=60)
    assert short(value) == expected
    assert short((value,)) == f"({expected},)"


def test_values_of_this_process_alone_are_described_there() -> None:
    assert ShortFormatter(apart=False, letters=60)([pl.Series([1, None])]) == "[polars.Series: [1, null] of Int64]"
    assert ShortFormatter(apart=True, letters=60)([pl.Series([1, None])]) == "[polars.Series: 2 values of Int64]"


def test_others_are_described_by_their_size() -> None:
    short = ShortFormatter(apart=True, letters=60)
    assert short(np.arange(9)).startswith("numpy.ndarray: shape (9,), dtype int64")
    assert short(np.array(7)).startswith("numpy.ndarray: shape (), dtype int64")
    assert short(pd.Series([], dtype="int64")).startswith("pandas.Series: 0 values")
    assert short(pa.array(range(9))).startswith("pyarrow.Int64Array: 9 values")


def test_objects_in_an_array_run_nothing() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise SystemExit

    assert ShortFormatter(apart=False)(np.array([Loud()])).startswith("numpy.ndarray: 1 of object")
