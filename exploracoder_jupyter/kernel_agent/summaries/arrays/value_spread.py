"""What the elements of a NumPy array are like, told from a sample where they are many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Look
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import (
    Told,
    cell,
    missing,
    moment,
    number,
    objects,
    reach,
    sampled,
    share,
    span,
    spots,
    tops,
    truths,
)

FEW = 24
"""So many elements are shown whole."""
ACROSS = 8
"""Elements of a row at the beginning of a larger array."""

HASHED = 64_000
"""Bytes of an array that are looked at to see whether they were changed."""


def plain(array: Any) -> Any:
    """The array's memory as the base class sees it: what a class based on it has changed is not run."""
    numpy = sys.modules["numpy"]
    return numpy.ndarray.view(array, numpy.ndarray)


def sample_places(count: int, most: int) -> Any:
    """Places of a sample, evenly spread; None: take all."""
    places = spots(count, most)
    return None if places is None else sys.modules["numpy"].asarray(places)


def sample(array: Any, most: int) -> Any:
    """Elements of an array in one dimension, evenly spread if there are more than that."""
    places = sample_places(array.size, most)
    return array.reshape(-1) if places is None else array.flat[places]


def elements(array: Any, look: Look, name: str = "values") -> Iterator[Fact]:
    """A line on what the elements are like, and one with the elements, or the first ones."""
    if array.size > FEW or array.dtype.kind in "OV":
        taken = sample(array, look.sample)
        note = sampled(taken.size, array.size)
        known = told(taken, look, exact=not note)
        if known.counts or known.values:
            yield known.fact(name, "", note)
    yield Fact(begins(array, look), shows=True)


def told(values: Any, look: Look, *, exact: bool = True, deviation: bool = True) -> Told:
    """What is known of values in one dimension; counts of a sample are told as shares."""
    kind = values.dtype.kind
    if not values.size or kind == "V":
        return Told()
    if kind == "b":
        return Told(values=(truths(int(values.sum()), values.size),))
    if kind in "iufc":
        return _numbers(values, exact, deviation)
    if kind in "mM":
        return _moments(values, exact)
    if kind == "O":
        return objects(values.tolist(), look, exact=exact)
    return Told(values=tops(values.tolist(), look, exact=exact))


def _numbers(values: Any, exact: bool, deviation: bool) -> Told:
    numpy = sys.modules["numpy"]
    nan, infinite = numpy.isnan(values), numpy.isinf(values)
    finite = values[~(nan | infinite)]
    counts = missing(int(nan.sum()), values.size, exact=exact, word="NaN")
    endless = missing(int(infinite.sum()), values.size, exact=exact, word="infinite")
    with numpy.errstate(all="ignore"):
        return Told(counts, (*_range(finite, deviation), *_zeros(finite, values.size), *endless))


def _range(finite: Any, deviation: bool) -> tuple[str, ...]:
    if not finite.size:
        return ()
    if finite.dtype.kind == "c":
        low, high = (number(abs(finite).min().item()), number(abs(finite).max().item()))
        return (f"magnitude {span(low, high)}",)
    extent = reach(finite.min().item(), finite.max().item())
    if extent.startswith("all "):
        return (extent,)
    wide = finite.astype("float64")
    mean = f"mean {number(wide.mean().item())}"
    return (extent, mean, f"std {number(wide.std().item())}") if deviation else (extent, mean)


def _zeros(finite: Any, total: int) -> tuple[str, ...]:
    zeros = int((finite == 0).sum())
    return (f"{share(zeros, total)} zeros",) if total > FEW and total > zeros > total / 2 else ()


def _moments(values: Any, exact: bool) -> Told:
    none = sys.modules["numpy"].isnat(values)
    known = values[~none]
    counts = missing(int(none.sum()), values.size, exact=exact, word="NaT")
    return Told(counts, (span(moment(known.min()), moment(known.max())),) if known.size else ())


def begins(array: Any, look: Look) -> str:
    """All elements of a small array, else the first ones of its first rows."""
    if array.ndim == 0:
        return f"value {nested(array, look, FEW)}"
    if array.size <= FEW:
        return f"all: {nested(array, look, FEW)}"
    corner = array[(0,) * max(array.ndim - 2, 0)]
    where = f" at [{', '.join('0' * (array.ndim - 2))}]" if array.ndim > 2 else ""
    return f"begins{where}: {nested(corner, look, look.rows if corner.ndim > 1 else ACROSS)}"


def nested(array: Any, look: Look, most: int) -> str:
    """The first elements along each dimension, in brackets."""
    if array.ndim == 0:
        return _quoted(array[()], look)
    if array.ndim == 1:
        items = [_quoted(value, look) for value in array[:most]]
    else:
        items = [nested(row, look, max(most, ACROSS)) for row in array[:most]]
    return f"[{', '.join([*items, '...'] if len(array) > most else items)}]"


def _quoted(value: Any, look: Look) -> str:
    if type(value).__name__ == "MaskedConstant":
        return "masked"
    if isinstance(value, str):
        text = str(value)
        return repr(text) if len(text) <= look.letters else f"'{cell(text, look)}'"
    return cell(value, look)


def fingerprint(array: Any) -> str:
    """Differs when the elements of a small array have changed: ` #1f00ba44`; empty for others.

    The hash is keyed anew in each process, so that it tells nothing of the elements.
    """
    if array.nbytes > HASHED or array.dtype.hasobject:
        return ""
    return f" #{hash(array.tobytes()) & 0xFFFFFFFF:08x}"
