"""Equality as a check means it: `==` where that has a truth, content where it has none, NaN equal to NaN.

`same(given, wanted)` is what `given == wanted` becomes in a check. The wanted side decides, for the given one was made
by the program under test: an object that says it equals everything equals nothing here, on whichever side it stands,
for not every check tells which side is the wanted one. `unittest.mock.ANY` may be wanted. The source of this file runs
in the branch, after the program: standard library only, other libraries only where they are loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Number
from typing import Any

_LOOSE = {"check_exact": True, "check_dtype": False, "check_names": False, "check_categorical": False}
_TABLES = {"DataFrame": {"check_column_type": False}, "Series": {}, "Index": {}}


def same(given: Any, wanted: Any) -> bool:
    """Whether the given value equals the wanted one.

    Lists, tuples and dicts are compared by their items; arrays, frames and tensors by shape and content.

    Raises:
        Exception: whatever `==` raises, where the content cannot decide.
    """
    if given is wanted or (_missing(given) and _missing(wanted) and _alike(given, wanted)):
        return True
    for kind, compare in _BY_ITEMS:
        if isinstance(given, kind) and isinstance(wanted, kind):
            return compare(given, wanted)
    answer, problem = _asked(given, wanted)
    if isinstance(answer, bool) or type(answer).__name__ in ("bool", "bool_"):
        return bool(answer)
    decided = _by_content(given, wanted)
    if decided is None and problem:
        raise problem
    return bool(answer) if decided is None else decided


def _asked(given: Any, wanted: Any) -> tuple[Any, Exception | None]:
    """What `==` says, asked of the wanted side first; a side that equals just anything is not asked."""
    wanted_kind, given_kind = _kind(wanted), _kind(given)
    believed = wanted_kind.__module__ == "unittest.mock" or not _equals_anything(wanted)
    try:
        answer = wanted_kind.__eq__(wanted, given) if believed else NotImplemented
        if answer is NotImplemented and not _equals_anything(given):
            answer = given_kind.__eq__(given, wanted)
    except Exception as problem:
        return None, problem
    return (False if answer is NotImplemented else answer), None


def _equals_anything(value: Any) -> bool:
    try:
        answer = _kind(value).__eq__(value, object())
        return answer is not NotImplemented and not hasattr(answer, "__len__") and bool(answer)
    except Exception:
        return False


def _kind(value: Any) -> Any:
    return type(value)


def _missing(value: Any) -> bool:
    """Whether it is one of the values that do not equal themselves: NaN, NaT, NA."""
    if not (isinstance(value, Number) or type(value).__name__ in ("NaTType", "NAType", "datetime64", "timedelta64")):
        return False
    try:
        return type(value).__name__ == "NAType" or bool(value != value)
    except Exception:
        return False


def _alike(given: Any, wanted: Any) -> bool:
    return type(given) is type(wanted) or (isinstance(given, Number) and isinstance(wanted, Number))


def _sequences(given: Any, wanted: Any) -> bool:
    kind = list if isinstance(wanted, list) else tuple
    one, other = list(kind.__iter__(given)), list(kind.__iter__(wanted))
    return len(one) == len(other) and all(map(same, one, other))


def _mappings(given: Any, wanted: Any) -> bool:
    one, other = dict(dict.items(given)), dict(dict.items(wanted))
    return len(one) == len(other) and all(key in one and same(one[key], other[key]) for key in other)


_BY_ITEMS: tuple[tuple[type, Callable[[Any, Any], bool]], ...] = (
    (list, _sequences),
    (tuple, _sequences),
    (dict, _mappings),
)


def _by_content(given: Any, wanted: Any) -> bool | None:
    """What shape and content say; `None` where they say nothing."""
    for decide in (_pandas, _polars, _torch, _own_equals, _arrays):
        decided = decide(given, wanted)
        if decided is not None:
            return decided
    return None


def _pandas(given: Any, wanted: Any) -> bool | None:
    pandas: Any = sys.modules.get("pandas")
    for name, more in _TABLES.items() if pandas else ():
        kind = getattr(pandas, name)
        if isinstance(wanted, kind):
            assertion = getattr(pandas.testing, f"assert_{'frame' if name == 'DataFrame' else name.lower()}_equal")
            return isinstance(given, kind) and _holds(assertion, given, wanted, {**_options(name), **more})
    return None


def _options(name: str) -> dict[str, Any]:
    if name == "Index":
        return {"exact": False, "check_names": False, "check_exact": True, "check_categorical": False}
    return {**_LOOSE, "check_index_type": False, "check_freq": False, "check_flags": False}


def _polars(given: Any, wanted: Any) -> bool | None:
    polars: Any = sys.modules.get("polars")
    if polars and isinstance(wanted, (polars.DataFrame, polars.Series)):
        from polars import testing

        frames = isinstance(wanted, polars.DataFrame)
        exact = {"check_exact": True, "check_dtypes": False, **({} if frames else {"check_names": False})}
        assertion = testing.assert_frame_equal if frames else testing.assert_series_equal
        return type(given) is type(wanted) and _holds(assertion, given, wanted, exact)
    return None


def _torch(given: Any, wanted: Any) -> bool | None:
    torch: Any = sys.modules.get("torch")
    if torch and isinstance(wanted, torch.Tensor):
        if not isinstance(given, torch.Tensor) or given.shape != wanted.shape:
            return False
        given, wanted = given.detach().cpu(), wanted.detach().cpu()
        return bool(((given == wanted) | ((given != given) & (wanted != wanted))).all())
    return None


def _own_equals(given: Any, wanted: Any) -> bool | None:
    """What a library's own `equals` says of two of its objects: xarray, pyarrow and others."""
    kind = type(wanted)
    if isinstance(given, kind) and kind.__module__ != "__main__" and callable(getattr(kind, "equals", None)):
        return kind.equals(wanted, given) is True
    return None


def _arrays(given: Any, wanted: Any) -> bool | None:
    numpy: Any = sys.modules.get("numpy")
    if not numpy or not (hasattr(wanted, "__array__") or hasattr(given, "__array__")):
        return None
    one, other = numpy.asarray(given), numpy.asarray(wanted)
    if one.size == other.size == 1:
        one, other = one.ravel(), other.ravel()
    if one.shape != other.shape:
        return False
    kinds = {one.dtype.kind, other.dtype.kind}
    if "O" in kinds:
        return _sequences(list(one.flat), list(other.flat))
    mixed = len(kinds) > 1 and bool(kinds & {"M", "m"})  # times have the numbers behind them for items
    return not mixed and _plain(one, other)


def _plain(one: Any, other: Any) -> bool:
    numpy: Any = sys.modules["numpy"]
    try:
        return bool(numpy.array_equal(one, other, equal_nan=True))
    except TypeError:  # of strings and of records there is no NaN to ask for
        return _sequences(one.tolist(), other.tolist())


def _holds(assertion: Callable[..., None], given: Any, wanted: Any, options: dict[str, Any]) -> bool:
    try:
        assertion(given, wanted, **options)
    except AssertionError:
        return False
    return True
