"""What the values of a column, a series or an index of pandas are like."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import sample_places
from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import told as told_elements
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Look, listed
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import (
    Told,
    cell,
    frequent,
    label,
    light,
    missing,
    moment,
    objects,
    sampled,
    share,
    span,
    tops,
)


def line(name: str, values: Any, look: Look, places: Any) -> Fact:
    """A line on a series or an array of pandas."""
    return told(values, look, places).fact(name, kind(values.dtype))


def kind(dtype: Any) -> str:
    """A type of elements in words."""
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return dtype_name(dtype)
    return f"{'ordered ' if dtype.ordered else ''}category of {len(categories):,}"


def dtype_name(dtype: Any) -> str:
    """A type of elements as pandas writes it, without the value that fills up sparse ones: that is data."""
    return f"Sparse[{dtype.subtype}]" if type(dtype).__name__ == "SparseDtype" else str(dtype)


def sample_note(places: Any, count: int) -> str:
    """Says how many of the values are at the places, if not all."""
    return "" if places is None else sampled(len(places), count)


def told(values: Any, look: Look, places: Any) -> Told:
    """What is known of the values at these places, or of all of them if that is None."""
    pandas = sys.modules["pandas"]
    array = getattr(values, "array", values)
    places = _light(array, places)
    taken = array if places is None else array.take(places)
    known = pandas.Series(taken, dtype=values.dtype)
    gone = known.isna().to_numpy(dtype=bool)
    exact = places is None
    counts = (*missing(int(gone.sum()), len(known), exact=exact), *_density(values, array))
    if gone.all():
        return Told(counts)
    present = _present(known[~gone] if gone.any() else known, look, exact)
    return Told((*present.counts, *counts), present.values)


def _light(array: Any, places: Any) -> Any:
    most = light(array.nbytes / max(len(array), 1))
    return places if len(array if places is None else places) <= most else sample_places(len(array), most)


def _density(values: Any, array: Any) -> tuple[str, ...]:
    if type(values.dtype).__name__ != "SparseDtype":
        return ()
    return (f"{share(int(array.npoints), len(array))} stored",) if len(array) else ()


def _present(known: Any, look: Look, exact: bool) -> Told:
    dtype = known.dtype
    if hasattr(dtype, "categories"):
        return Told(values=(_categories(known, look, exact),))
    if type(dtype).__name__ == "IntervalDtype":
        return Told(values=(span(cell(known.array.left.min(), look), cell(known.array.right.max(), look)),))
    of = getattr(dtype, "kind", "O")
    if of in "iufcb":
        values = known.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
        return told_elements(values, look, exact=exact, deviation=False)
    if of in "mM" or type(dtype).__name__ == "PeriodDtype":
        return Told(values=(span(moment(known.min()), moment(known.max())),))
    if type(dtype).__name__ == "StringDtype" or "string" in str(dtype).partition("[")[0]:
        return Told(values=tops(known.tolist(), look, exact=exact))
    return objects(known.tolist(), look, exact=exact)


def _categories(known: Any, look: Look, exact: bool) -> str:
    codes = Counter(known.array.codes.tolist()).most_common(3)
    names = Counter({cell(known.array.categories[code], look): times for code, times in codes})
    return frequent(names, len(known), look, exact=exact)


def index_lines(index: Any, look: Look, places: Any) -> Iterator[Fact]:
    """What labels the rows; nothing if they are only counted."""
    if is_plain(index):
        return
    if hasattr(index, "levels"):
        yield from _levels(index, look)
        return
    known = told(index, look, places) if len(index) else Told()
    words = [type(index).__name__, *_named(index.name, look)]
    if type(index).__name__ not in ("RangeIndex", "CategoricalIndex"):
        words.append(f"of {dtype_name(index.dtype)}")
    told_kind = f"{' '.join(words)}{_frequency(index)}{_repeated(index, places)}"
    yield known.fact("index", told_kind)


def is_plain(index: Any) -> bool:
    """Whether it only counts the rows from 0."""
    if type(index).__name__ != "RangeIndex" or index.name is not None:
        return False
    return (index.start, index.step) == (0, 1)


def _named(name: Any, look: Look) -> list[str]:
    return [] if name is None else [repr(label(name, look))]


def _frequency(index: Any) -> str:
    if type(index).__name__ == "CategoricalIndex":
        return f", {kind(index.dtype)}"
    if type(index).__name__ == "RangeIndex":
        return f" by {index.step}" if index.step != 1 else ""
    name = getattr(index, "freqstr", None)
    return f", freq {name}" if name else ""


def _repeated(index: Any, places: Any) -> str:
    """Asked of the values alone: the index itself would keep a table for it."""
    if places is not None or type(index).__name__ == "RangeIndex":
        return ""
    values = sys.modules["pandas"].Series(index.array)
    return ", with duplicates" if bool(values.duplicated().any()) else ""


def _levels(index: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"index: MultiIndex of {len(index.levels)} levels")
    for level in index.levels[: look.columns]:
        name = "unnamed" if level.name is None else label(level.name, look)
        places = sample_places(len(level), look.sample)
        yield told(level, look, places).fact(f"level {name}", f"{dtype_name(level.dtype)}, {len(level):,} labels")


def labels_line(columns: Any, look: Look) -> Iterator[Fact]:
    """What is unusual about the names of the columns."""
    if hasattr(columns, "levels"):
        names = ["unnamed" if name is None else label(name, look) for name in columns.names]
        yield Fact(f"columns of {len(names)} levels: {listed(names, look.columns)}")
    elif columns.name is not None:
        yield Fact(f"columns are named {label(columns.name, look)!r}")
    repeated = [name for name, times in Counter(columns).items() if times > 1]
    if repeated:
        yield Fact(f"names that occur more than once: {listed([label(n, look) for n in repeated], 5)}")
