"""NumPy arrays and scalars, SciPy's sparse arrays, and ranges of many numbers in a few words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.columns import (
    ColumnFacts,
    describe_objects,
    describe_values,
    format_cell,
    format_label,
    format_timestamp,
    omitted_note,
)
from exploracoder_jupyter.kernel_agent.summaries.facts import (
    BRIEF_LIMIT,
    Fact,
    SummaryOptions,
    TypeFamily,
    format_range,
    format_size,
    missing_note,
    percentage,
    sample_note,
    sample_positions,
    truncate,
)

# Describes ranges and curves of many numbers in a few words. Callers must have loaded NumPy.

FormatNumber = Callable[[float], str]
_MAX_POINTS_SHOWN = 6


def format_number(value: float) -> str:
    """Format a number in few digits: `2000`, `0.1235`, `1e+09`."""
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.4g}"


def to_floats(values: Any) -> Any:
    """Convert to a flat NumPy array of floats, with NaN where a value is missing or not a number.

    Raises: the exception of NumPy for values that are not an array of numbers.
    """
    np = sys.modules["numpy"]
    array = np.ma.asanyarray(values)
    if array.dtype.kind not in "biuf":
        array = array.astype(float)
    return np.ma.filled(array.astype(float, copy=False), np.nan).reshape(-1)


def thin(values: Any, limit: int) -> Any:
    """Return every n-th row of an array, so that at most `limit` remain."""
    return values[:: max(1, -(-len(values) // limit))]


def finite(values: Any) -> Any:
    """Return the numbers that are neither NaN nor infinite."""
    return values[sys.modules["numpy"].isfinite(values)]


def describe_range(values: Any, format_value: FormatNumber = format_number) -> str:
    """Describe the range of an array of floats: `1 to 9`, `always 3`, `1 to 9, 2 not finite`."""
    finite_values = finite(values)
    if not len(finite_values):
        return "no finite values" if len(values) else "no values"
    low, high = float(finite_values.min()), float(finite_values.max())
    if low < high:
        text = f"{format_value(low)} to {format_value(high)}"
    else:
        text = f"{'always ' if len(finite_values) > 1 else ''}{format_value(low)}"
    return text + (f", {len(values) - len(finite_values):,} not finite" if len(finite_values) < len(values) else "")


def describe_curve(
    xs: Any, ys: Any, format_x: FormatNumber = format_number, format_y: FormatNumber = format_number
) -> str:
    """Describe the ranges of points and the trend of y along x: `x 0 to 9; y 1 to 5, rising`. Few points are listed."""
    if 0 < len(xs) <= _MAX_POINTS_SHOWN:
        return f"x {', '.join(map(format_x, xs.tolist()))}; y {', '.join(map(format_y, ys.tolist()))}"
    trend = _describe_trend(xs, ys, format_x, format_y)
    return f"x {describe_range(xs, format_x)}; y {describe_range(ys, format_y)}{trend}"


def _describe_trend(xs: Any, ys: Any, format_x: FormatNumber, format_y: FormatNumber) -> str:
    np = sys.modules["numpy"]
    is_known = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[is_known], ys[is_known]
    if len(xs) < 2 or ys.min() == ys.max():
        return ""
    if (xs[1:] < xs[:-1]).any():
        return ", x goes back and forth"
    if (ys[1:] >= ys[:-1]).all() or (ys[1:] <= ys[:-1]).all():
        return ", rising" if ys[-1] > ys[0] else ", falling"
    top, bottom = format_x(float(xs[ys.argmax()])), format_x(float(xs[ys.argmin()]))
    first_last = f"first {format_y(float(ys[0]))}, last {format_y(float(ys[-1]))}"
    return f" ({first_last}, highest at x = {top}, lowest at x = {bottom})"


# Describes the elements of a NumPy array, from a sample where there are many.

WHOLE_ARRAY_LIMIT = 24
"""Up to this many elements, an array is shown whole."""
ROW_ELEMENTS = 8
"""Elements shown of a row at the beginning of a larger array."""

MAX_HASHED_BYTES = 64_000
"""Maximum bytes of an array that are hashed to detect changes."""


def as_ndarray(array: Any) -> Any:
    """View the array's memory as the base class, so that methods overridden by a subclass do not run."""
    numpy = sys.modules["numpy"]
    return numpy.ndarray.view(array, numpy.ndarray)


def sample_indices(count: int, limit: int) -> Any:
    """Return the positions of a sample, evenly spread; None: take all."""
    positions = sample_positions(count, limit)
    return None if positions is None else sys.modules["numpy"].asarray(positions)


def sample_elements(array: Any, limit: int) -> Any:
    """Flatten an array, or take elements evenly spread if it has more than `limit`."""
    positions = sample_indices(array.size, limit)
    return array.reshape(-1) if positions is None else array.flat[positions]


def element_facts(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Yield a line of facts about the elements of an array, and a line with the elements or the first ones."""
    if array.size > WHOLE_ARRAY_LIMIT or array.dtype.kind in "OV":
        yield from sampled_fact(array, options.sample, options)
    yield Fact(first_elements(array, options), shows=True)


def sampled_fact(array: Any, limit: int, options: SummaryOptions, name: str = "values") -> Iterator[Fact]:
    """Yield a line of facts about the elements of an array, or about `limit` of them."""
    sample = sample_elements(array, limit)
    facts = describe_elements(sample, options, exact=sample.size == array.size)
    if facts.counts or facts.values:
        yield facts.fact(name, "", sample_note(sample.size, array.size))


def describe_elements(
    values: Any, options: SummaryOptions, *, exact: bool = True, deviation: bool = True
) -> ColumnFacts:
    """Describe the values of a flat array; counts in a sample (`exact` false) are given as shares."""
    kind = values.dtype.kind
    if not values.size or kind == "V":
        return ColumnFacts()
    if kind == "O":
        return describe_objects(values.tolist(), options, exact=exact)
    if kind in "mM":
        is_missing = sys.modules["numpy"].isnat(values)
        present = values[~is_missing]
        counts = missing_note(int(is_missing.sum()), values.size, exact=exact, word="NaT")
        ends = [format_timestamp(end) for end in (present.min(), present.max())] if present.size else []
        return ColumnFacts(counts, (format_range(*ends),) if ends else ())
    numbers = values.astype("f8") if kind == "f" else values  # longer floats have no Python type
    return describe_values(numbers.tolist(), options, exact=exact, deviation=deviation)


def first_elements(array: Any, options: SummaryOptions) -> str:
    """Format all elements of a small array, else the first ones of its first rows."""
    if array.ndim == 0:
        return f"value {format_nested(array, options, WHOLE_ARRAY_LIMIT)}"
    if array.size <= WHOLE_ARRAY_LIMIT:
        return f"all: {format_nested(array, options, WHOLE_ARRAY_LIMIT)}"
    first_block = array[(0,) * max(array.ndim - 2, 0)]
    position_note = f" at [{', '.join('0' * (array.ndim - 2))}]" if array.ndim > 2 else ""
    limit = options.rows if first_block.ndim > 1 else ROW_ELEMENTS
    return f"begins{position_note}: {format_nested(first_block, options, limit)}"


def format_nested(array: Any, options: SummaryOptions, limit: int) -> str:
    """Format the first elements along each dimension, in brackets."""
    if array.ndim == 0:
        return _format_element(array[()], options)
    if array.ndim == 1:
        items = [_format_element(value, options) for value in array[:limit]]
    else:
        items = [format_nested(row, options, max(limit, ROW_ELEMENTS)) for row in array[:limit]]
    return f"[{', '.join([*items, '...'] if len(array) > limit else items)}]"


def _format_element(value: Any, options: SummaryOptions) -> str:
    if type(value).__name__ == "MaskedConstant":
        return "masked"
    if isinstance(value, str):
        text = str(value)
        return repr(text) if len(text) <= options.cell_width else f"'{format_cell(text, options)}'"
    return format_cell(value, options)


def fingerprint(array: Any) -> str:
    """Return a short hash of a small array's elements, to detect changes: ` #1f00ba44`; empty for other arrays.

    The hash is salted anew in each process, so it reveals nothing about the elements.
    """
    if array.nbytes > MAX_HASHED_BYTES or array.dtype.hasobject:
        return ""
    return f" #{hash(array.tobytes()) & 0xFFFFFFFF:08x}"


# NumPy arrays and scalars, and SciPy's sparse arrays.

MAX_MAPPED_ELEMENTS = 1_000
"""Maximum elements read from a memory-mapped file: each can be a page from the disk."""
MAX_DTYPE_LENGTH = 80
"""Characters of a dtype within a dtype."""
_ARRAY_ATTRIBUTES = ("data", "indices", "indptr", "row", "col", "offsets", "rows")


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    values = as_ndarray(array)
    yield Fact(_array_header(values))
    if values.dtype.names and values.size:
        yield from _field_facts(values, options)
    elif values.size:
        yield from element_facts(values, options)


def _array_header(values: Any) -> str:
    parts = [f"shape {values.shape}", f"dtype {_format_dtype(values.dtype)}", format_size(values.nbytes)]
    if values.dtype.names:
        parts[1] = f"{len(values.dtype.names):,} fields"
    if values.size > 1 and 0 in values.strides and values.dtype.itemsize:
        parts.append("broadcast: its elements share memory")
    elif not values.flags.c_contiguous:
        parts.append("Fortran order" if values.flags.f_contiguous else "not contiguous")
    if not values.flags.writeable:
        parts.append("read-only")
    if not values.size:
        parts.append("empty")
    return ", ".join(parts)


def _format_dtype(dtype: Any) -> str:
    return truncate(str(dtype), MAX_DTYPE_LENGTH)


def _field_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    sample = sample_elements(values, options.sample)
    note = sample_note(sample.size, values.size)
    for name in values.dtype.names[: options.columns]:
        column = sample_elements(sample[name].reshape(-1), options.sample)
        facts = describe_elements(column, options, exact=not note, deviation=False)
        yield facts.fact(format_label(name, options), _format_dtype(values.dtype[name]), note)
    yield from omitted_note(len(values.dtype.names), "fields", options)
    yield Fact(first_elements(values, options), shows=True)


def _describe_masked(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    values, mask = as_ndarray(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    if values.dtype.names or mask is numpy.ma.nomask:
        yield from _describe_array(values, options)
        return
    masked = missing_note(int(numpy.count_nonzero(mask)), values.size, word="masked")
    yield Fact(", ".join((_array_header(values), *(masked or ("none masked",)))))
    sample = sample_elements(values, options.sample)[~sample_elements(mask, options.sample)]
    facts = describe_elements(sample, options, exact=values.size <= options.sample)
    if facts.values:
        yield facts.fact("values", "", sample_note(min(values.size, options.sample), values.size))
    yield Fact(first_elements(array, options), shows=True)


def _describe_mapped(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    values = as_ndarray(array)
    yield Fact(_array_header(values))
    yield Fact(f"mapped from file {array.filename}, mode {array.mode}", shows=True, schema=f"file, mode {array.mode}")
    if values.size and not values.dtype.names:
        yield from sampled_fact(values, MAX_MAPPED_ELEMENTS, options)
        yield Fact(first_elements(values, options), shows=True)


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    array = as_ndarray(sys.modules["numpy"].asarray(value))
    yield Fact(first_elements(array, options), shows=True, schema=f"scalar of {_format_dtype(value.dtype)}")


def _describe_sparse(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    stored, total = int(array.nnz), 1
    for length in array.shape:
        total *= length
    density = f" ({percentage(stored, total)})" if total else ""
    memory = sum(int(getattr(getattr(array, name, None), "nbytes", 0)) for name in _ARRAY_ATTRIBUTES)
    size = f", {format_size(memory)}" if memory else ""
    yield Fact(f"shape {array.shape}, {array.format} format, dtype {array.dtype}, {stored:,} stored{density}{size}")
    values = _stored_values(array, options)
    if stored and values.size:
        if values.size == stored:
            yield from sampled_fact(values, options.sample, options, "stored values")
        yield Fact(f"stored values: {first_elements(values, options)}", shows=True)


def _stored_values(array: Any, options: SummaryOptions) -> Any:
    """Return the stored values as a flat array; of formats that use Python containers, only the first ones."""
    numpy = sys.modules["numpy"]
    if array.format == "dok":
        values = list(islice(array.values(), options.sample))
    elif array.format == "lil":
        values = [value for row in array.data.flat[: options.sample] for value in islice(row, 10)][: options.sample]
    else:
        return numpy.asarray(array.data).reshape(-1)
    return numpy.asarray(values, dtype=array.dtype)


def _format_brief(array: Any, options: SummaryOptions) -> str:
    values = as_ndarray(array)
    if not values.ndim or not 0 < values.size <= BRIEF_LIMIT:
        return ""
    return f"{format_nested(values, options, BRIEF_LIMIT)} of {_format_dtype(values.dtype)}"


def _measure_array(array: Any) -> str:
    values = as_ndarray(array)
    return f"{_format_shape(values)}{fingerprint(values)}"


def _measure_masked(array: Any) -> str:
    numpy = sys.modules["numpy"]
    values, mask = as_ndarray(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    return f"{_format_shape(values)}{fingerprint(values)}{fingerprint(mask)}"


def _measure_mapped(array: Any) -> str:
    return _format_shape(as_ndarray(array))


def _format_shape(values: Any) -> str:
    return f"{' x '.join(map(str, values.shape)) or 'scalar'} of {values.dtype}"


def _measure_sparse(array: Any) -> str:
    return f"{' x '.join(map(str, array.shape))} of {array.dtype}, {array.nnz:,} stored"


def _is_inert(value: Any) -> bool:
    """Return whether this is an array or scalar without objects, and not mapped from a file that may block."""
    name = type(value).__name__
    return hasattr(value, "dtype") and name != "memmap" and not value.dtype.hasobject


_SPARSE_TYPES = ("scipy.sparray", "scipy.spmatrix", "scipy.dok_array", "scipy.dok_matrix")
"""The dictionary-of-keys formats subclass `dict`, so they are listed to be described as sparse arrays first."""

FAMILY = TypeFamily(
    {
        "numpy.ndarray": _describe_array,
        "numpy.MaskedArray": _describe_masked,
        "numpy.memmap": _describe_mapped,
        "numpy.generic": _describe_scalar,
        "numpy.str_": _describe_scalar,
        "numpy.bytes_": _describe_scalar,
        **dict.fromkeys(_SPARSE_TYPES, _describe_sparse),
    },
    {
        "numpy.ndarray": _measure_array,
        "numpy.MaskedArray": _measure_masked,
        "numpy.memmap": _measure_mapped,
        **dict.fromkeys(_SPARSE_TYPES, _measure_sparse),
    },
    is_inert=_is_inert,
    briefs={"numpy.ndarray": _format_brief},
)
