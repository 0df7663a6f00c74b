"""Equality for checks: `==` where it yields a truth value, comparison by content otherwise; NaN equals NaN.

`values_equal(actual, expected)` replaces `actual == expected` in a check. The expected side decides, because the
actual value comes from the program under test: an object that claims to equal everything equals nothing here, on either
side, as not every check reveals which side is the expected one. `unittest.mock.ANY` is allowed as the expected value.
The source of this file runs in the branch, after the program: standard library only, other libraries only if already
loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Number
from typing import Any

_COMMON_OPTIONS = {"check_exact": True, "check_names": False, "check_categorical": False}
_DATA_OPTIONS = {"check_dtype": False, "check_index_type": False, "check_freq": False, "check_flags": False}
_PANDAS = {
    "DataFrame": ("assert_frame_equal", {**_COMMON_OPTIONS, **_DATA_OPTIONS, "check_column_type": False}),
    "Series": ("assert_series_equal", {**_COMMON_OPTIONS, **_DATA_OPTIONS}),
    "Index": ("assert_index_equal", {**_COMMON_OPTIONS, "exact": False}),
}


def values_equal(actual: Any, expected: Any) -> bool:
    """Return whether the actual value equals the expected one.

    Lists, tuples and dicts are compared by their items; arrays, frames and tensors by shape and content.

    Raises whatever `==` raises, if the contents do not decide either.
    """
    comparable = type(actual) is type(expected) or (isinstance(actual, Number) and isinstance(expected, Number))
    if actual is expected or (comparable and _is_missing(actual) and _is_missing(expected)):
        return True
    kinds: tuple[Any, ...] = (list, tuple)
    for kind in kinds:
        if isinstance(actual, kind) and isinstance(expected, kind):
            return _equal_sequences(list(kind.__iter__(actual)), list(kind.__iter__(expected)))
    if isinstance(actual, dict) and isinstance(expected, dict):
        one, other = dict(dict.items(actual)), dict(dict.items(expected))
        return len(one) == len(other) and all(key in one and values_equal(one[key], other[key]) for key in other)
    result, error = _compare_by_operator(actual, expected)
    if isinstance(result, bool) or type(result).__name__ in ("bool", "bool_"):
        return bool(result)
    for compare in (_compare_pandas, _compare_polars, _compare_torch, _compare_by_equals_method, _compare_arrays):
        equal = compare(actual, expected)
        if equal is not None:
            return equal
    if error:
        raise error
    return bool(result)


def _compare_by_operator(actual: Any, expected: Any) -> tuple[Any, Exception | None]:
    """Return the result of `==`, evaluated by the expected side first, skipping sides that equal anything."""
    expected_type: Any = type(expected)
    actual_type: Any = type(actual)
    trusted = expected_type.__module__ == "unittest.mock" or not _equals_anything(expected)
    try:
        result = expected_type.__eq__(expected, actual) if trusted else NotImplemented
        if result is NotImplemented and not _equals_anything(actual):
            result = actual_type.__eq__(actual, expected)
    except Exception as error:
        return None, error
    return (False if result is NotImplemented else result), None


def _equals_anything(value: Any) -> bool:
    try:
        kind: Any = type(value)
        result = kind.__eq__(value, object())
        return result is not NotImplemented and not hasattr(result, "__len__") and bool(result)
    except Exception:
        return False


def _is_missing(value: Any) -> bool:
    """Return whether this is a value that does not equal itself: NaN, NaT, NA."""
    if not (isinstance(value, Number) or type(value).__name__ in ("NaTType", "NAType", "datetime64", "timedelta64")):
        return False
    try:
        return type(value).__name__ == "NAType" or bool(value != value)
    except Exception:
        return False


def _equal_sequences(actual: list[Any], expected: list[Any]) -> bool:
    return len(actual) == len(expected) and all(map(values_equal, actual, expected))


def _compare_pandas(actual: Any, expected: Any) -> bool | None:
    pandas: Any = sys.modules.get("pandas")
    for name, (assertion, options) in _PANDAS.items() if pandas else ():
        kind = getattr(pandas, name)
        if isinstance(expected, kind):
            assert_equal = getattr(pandas.testing, assertion)
            return isinstance(actual, kind) and _passes(assert_equal, actual, expected, options)
    return None


def _compare_polars(actual: Any, expected: Any) -> bool | None:
    polars: Any = sys.modules.get("polars")
    if polars and isinstance(expected, (polars.DataFrame, polars.Series)):
        from polars import testing

        frames = isinstance(expected, polars.DataFrame)
        exact = {"check_exact": True, "check_dtypes": False, **({} if frames else {"check_names": False})}
        assertion = testing.assert_frame_equal if frames else testing.assert_series_equal
        return type(actual) is type(expected) and _passes(assertion, actual, expected, exact)
    return None


def _compare_torch(actual: Any, expected: Any) -> bool | None:
    torch: Any = sys.modules.get("torch")
    if torch and isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor) or actual.shape != expected.shape:
            return False
        actual, expected = actual.detach().cpu(), expected.detach().cpu()
        return bool(((actual == expected) | ((actual != actual) & (expected != expected))).all())
    return None


def _compare_by_equals_method(actual: Any, expected: Any) -> bool | None:
    """Use the `equals` method of the library's own type: xarray, pyarrow and others."""
    kind = type(expected)
    if isinstance(actual, kind) and kind.__module__ != "__main__" and callable(getattr(kind, "equals", None)):
        return kind.equals(expected, actual) is True
    return None


def _compare_arrays(actual: Any, expected: Any) -> bool | None:
    numpy: Any = sys.modules.get("numpy")
    if not numpy or not (hasattr(expected, "__array__") or hasattr(actual, "__array__")):
        return None
    one, other = numpy.asarray(actual), numpy.asarray(expected)
    if one.size == other.size == 1:
        one, other = one.ravel(), other.ravel()
    if one.shape != other.shape:
        return False
    kinds = {one.dtype.kind, other.dtype.kind}
    if "O" in kinds:
        return _equal_sequences(list(one.flat), list(other.flat))
    if len(kinds) > 1 and kinds & {"M", "m"}:  # `tolist` turns times into plain numbers
        return False
    try:
        return bool(numpy.array_equal(one, other, equal_nan=True))
    except TypeError:  # strings and records do not support `equal_nan`
        return _equal_sequences(one.tolist(), other.tolist())


def _passes(assertion: Callable[..., None], actual: Any, expected: Any, options: dict[str, Any]) -> bool:
    try:
        assertion(actual, expected, **options)
    except AssertionError:
        return False
    return True
