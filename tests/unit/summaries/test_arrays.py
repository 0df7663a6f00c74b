"""Summaries of NumPy's arrays and scalars and of SciPy's sparse arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tests.unit.summaries.described import facts, measure, schema, text

EXPECTED = [
    (np.arange(6).reshape(2, 3), ["shape (2, 3), dtype int64, 48 bytes", "all: [[0, 1, 2], [3, 4, 5]]"]),
    (np.arange(1000.0), ["values: 0 to 999, mean 499.5, std 288.675", "begins: [0, 1, 2, 3, 4, 5, 6, 7, ...]"]),
    (np.arange(3000).reshape(10, 20, 15), ["shape (10, 20, 15)", "begins at [0]: [[0, 1, 2, 3, 4, 5, 6, 7, ...], ["]),
    (np.array([1.0, np.nan, np.inf, 3.0] * 10), ["10 NaN (25 %), 1 to 3, mean 2, std 1, 10 infinite (25 %)"]),
    (np.full(30, np.nan), ["values: all NaN"]),
    (np.eye(20), ["0 to 1, mean 0.05", "95 % zeros"]),
    (np.full(30, 60000, dtype="f2"), ["dtype float16", "all 60000"]),
    (np.array(3), ["shape (), dtype int64", "value 3"]),
    (np.array([]), ["shape (0,), dtype float64, 0 bytes, empty"]),
    (np.array([1, "a", None, [1]], dtype=object), ["of int 1, str 1, NoneType 1, list 1", "all: [1, 'a', None, [1]]"]),
    (np.array([{"k": 1}] * 50, dtype=object), ["each of dict", "begins: [{'k': 1}, "]),
    (np.array([10**400] * 50, dtype=object), ["each of int", "begins: [(about 401 digits), "]),
    (np.array(["a", "b", "a"] * 10), ["2 distinct (a 20, b 10)", "begins: ['a', 'b', "]),
    (np.array(["a"] * 30, dtype=np.dtypes.StringDType()), ["all a"]),
    (np.array(["2020-01-01", "NaT", "2021-03-01T12:30"], dtype="M8[ns]"), ["[2020-01-01, NaT, 2021-03-01 12:30]"]),
    (np.arange("2020-01-01", "2020-03-01", dtype="M8[D]"), ["values: 2020-01-01 to 2020-02-29"]),
    (np.arange(100).astype("m8[s]"), ["0 seconds to 99 seconds"]),
    (np.arange(30) % 3 == 0, ["33 % True"]),
    (np.arange(30) * 1j, ["magnitude 0 to 29"]),
    (np.zeros(30, dtype=[("x", "f8"), ("y", "U4", (2,))]), ["2 fields", "x: float64, all 0", "y: "]),
    (np.arange(30, dtype=np.longdouble), ["0 to 29, mean 14.5"]),
    (np.rec.array(np.array([(1, 2.5)], dtype="i4,f8")), ["f0: int32, all 1", "f1: float64, all 2.5"]),
    (np.ma.masked_array(np.arange(40.0), mask=np.arange(40) % 7 == 0), ["6 masked (15 %)", "1 to 39", "[masked, 1, "]),
    (np.broadcast_to(3.0, (100, 100)), ["its elements share memory", "read-only", "all 3"]),
    (np.zeros((10, 10))[::2, ::3], ["not contiguous"]),
    (np.asfortranarray(np.zeros((10, 10))), ["Fortran order"]),
    (np.str_("ab"), ["value 'ab'"]),
    (np.bytes_(b"ab"), ["value b'ab'"]),
    (sparse.csr_array(np.eye(5)), ["shape (5, 5), csr format, dtype float64, 5 stored (20 %), 84 bytes", "all 1"]),
    (sparse.lil_matrix(np.eye(5)), ["lil format", "stored values: all 1"]),
    (sparse.dok_array(np.eye(5)), ["dok format", "stored values: all 1"]),
]


@pytest.mark.parametrize(("value", "parts"), EXPECTED, ids=lambda value: type(value).__name__)
def test_an_array_is_described(value: object, parts: list[str]) -> None:
    summary = text(value)
    for part in parts:
        assert part in summary


def test_samples_large_arrays_and_says_so() -> None:
    summary = text(np.arange(10_000_000))
    assert "sampled 20,000 of 10,000,000" in summary
    assert "0 to 99" in summary


def test_a_sample_avoids_periods_of_the_data() -> None:
    alternating = np.tile(np.array([0, 1] * 500), 200)
    assert "mean 0.5" in text(alternating, sample=1000)


def test_a_mapped_file_is_named_and_hardly_read(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "big.bin", dtype="f8", mode="w+", shape=(1000, 100))
    summary = text(array)
    assert "big.bin, mode w+" in summary
    assert "sampled 1,000 of 100,000" in summary
    assert "big.bin" not in schema(array)


class Hostile(np.ndarray):
    """An array of somebody else's class; looking at its elements runs what they wrote."""

    def refuse(self, *parts: object, **more: object) -> Any:
        raise RuntimeError("not to be run")

    __getitem__ = __array_function__ = __array_ufunc__ = refuse
    size = property(refuse)  # type: ignore[assignment]


def test_subclasses_of_arrays_run_no_code() -> None:
    assert "all: [0, 1, 2]" in text(np.arange(3).view(Hostile))


def test_with_schema_values_are_left_out() -> None:
    summary = schema(np.array([4711.25, np.nan] * 20))
    assert summary == "shape (40,), dtype float64, 320 bytes\nvalues: 20 NaN (50 %)"


MEASURED = [
    (np.arange(6).reshape(2, 3), "2 x 3 of int64 #"),
    (np.array(3.0), "scalar of float64 #"),
    (np.ma.masked_array([1, 2], mask=[0, 1]), "2 of int64 #"),
    (np.array([1, None]), "2 of object"),
    (np.zeros(100_000), "100000 of float64"),
    (sparse.csr_array(np.eye(5)), "5 x 5 of float64, 5 stored"),
]


@pytest.mark.parametrize(("value", "beginning"), MEASURED, ids=lambda value: type(value).__name__)
def test_measures_name_the_shape(value: object, beginning: str) -> None:
    assert measure(value).startswith(beginning)


def test_a_changed_element_or_mask_is_noticed() -> None:
    array, masked = np.zeros(100), np.ma.masked_array([1, 2], mask=[0, 1])
    before = measure(array), measure(masked)
    assert (measure(array), measure(masked)) == before
    array[3] = 1
    masked.mask = [1, 0]
    assert measure(array) != before[0] and measure(masked) != before[1]


ANY_ARRAY = hnp.arrays(
    dtype=hnp.scalar_dtypes() | hnp.array_dtypes(), shape=hnp.array_shapes(min_dims=0, min_side=0, max_side=6)
)


@given(ANY_ARRAY, st.integers(1, 40))
def test_any_array_is_described_unchanged(array: np.ndarray, sample: int) -> None:
    before = array.tobytes(), array.shape, array.dtype, array.flags.writeable
    described = facts(array, sample=sample)
    assert described[0].text.startswith(f"shape {array.shape}")
    assert not any("\n" in fact.text for fact in described)
    assert (array.tobytes(), array.shape, array.dtype, array.flags.writeable) == before


@given(
    st.lists(st.integers(10**12, 10**13), min_size=1, max_size=60),
    st.sampled_from(["i8", "f8", "U20", "S20", object, "M8[s]", "c16"]),
)
def test_no_value_is_in_the_schema(values: list[int], dtype: object) -> None:
    array = np.array(values).astype(dtype)
    assert not [value for value in array.tolist() if str(value)[:8] in schema(array)]
