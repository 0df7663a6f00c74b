"""NumPy arrays and scalars, and SciPy's sparse arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import sparse_arrays
from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import (
    begins,
    elements,
    fingerprint,
    nested,
    plain,
    sample,
    told,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import BRIEF, Fact, Family, Look, cut, listed, size
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import label, missing, sampled

MAPPED = 1_000
"""Elements that are read of a file that is mapped: each can be a page from the disk."""
KIND = 80
"""Characters of a type within a type."""


def _array(array: Any, look: Look) -> Iterator[Fact]:
    values = plain(array)
    yield Fact(_head(values))
    if not values.size:
        return
    if values.dtype.names:
        yield from _fields(values, look)
    else:
        yield from elements(values, look)


def _head(values: Any) -> str:
    return ", ".join([f"shape {values.shape}", _dtype(values.dtype), size(values.nbytes), *_unusual(values)])


def _dtype(dtype: Any) -> str:
    return f"{len(dtype.names):,} fields" if dtype.names else f"dtype {cut(str(dtype), KIND)}"


def _unusual(values: Any) -> Iterator[str]:
    if values.size > 1 and 0 in values.strides and values.dtype.itemsize:
        yield "broadcast: its elements share memory"
    elif not values.flags.c_contiguous:
        yield "Fortran order" if values.flags.f_contiguous else "not contiguous"
    if not values.flags.writeable:
        yield "read-only"
    if not values.size:
        yield "empty"


def _fields(values: Any, look: Look) -> Iterator[Fact]:
    taken = sample(values, look.sample)
    for name in values.dtype.names[: look.columns]:
        column = taken[name].reshape(-1)
        known = told(sample(column, look.sample), look, exact=taken.size == values.size, deviation=False)
        yield known.fact(label(name, look), cut(str(values.dtype[name]), KIND), sampled(taken.size, values.size))
    if len(values.dtype.names) > look.columns:
        yield Fact(f"... {len(values.dtype.names) - look.columns:,} more fields")
    yield Fact(begins(values, look), shows=True)


def _masked(array: Any, look: Look) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    values, mask = plain(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    if values.dtype.names or mask is numpy.ma.nomask:
        yield from _array(values, look)
        return
    hidden = int(numpy.count_nonzero(mask))
    yield Fact(", ".join((_head(values), *(missing(hidden, values.size, word="masked") or ("none masked",)))))
    taken = sample(values, look.sample)[~sample(mask, look.sample)]
    known = told(taken, look, exact=values.size <= look.sample)
    if known.values:
        yield known.fact("values", "", sampled(min(values.size, look.sample), values.size))
    yield Fact(begins(array, look), shows=True)


def _mapped(array: Any, look: Look) -> Iterator[Fact]:
    values = plain(array)
    yield Fact(_head(values))
    yield Fact(f"mapped from file {array.filename}, mode {array.mode}", shows=True, schema=f"file, mode {array.mode}")
    if values.size and not values.dtype.names:
        taken = sample(values, MAPPED)
        yield told(taken, look, exact=False).fact("values", "", sampled(taken.size, values.size))
        yield Fact(begins(values, look), shows=True)


def _scalar(value: Any, look: Look) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    kind = f"scalar of {cut(str(value.dtype), KIND)}"
    yield Fact(begins(plain(numpy.asarray(value)), look), shows=True, schema=kind)


def _type(dtype: Any, look: Look) -> Iterator[Fact]:
    if not dtype.names:
        yield Fact(f"{dtype}, {dtype.itemsize:,} bytes an element")
        return
    yield Fact(f"{len(dtype.names):,} fields, {dtype.itemsize:,} bytes an element")
    fields = [f"{label(name, look)} {cut(str(dtype[name]), KIND)}" for name in dtype.names]
    yield Fact(listed(fields, look.columns))


def _generator(source: Any, look: Look) -> Iterator[Fact]:
    """Its state is not looked at: drawing from it would change it, and it tells what comes."""
    yield Fact(f"random numbers, by {type(source.bit_generator).__name__}")


def _legacy(source: Any, look: Look) -> Iterator[Fact]:
    yield Fact("random numbers, the older interface")


def _brief(array: Any, look: Look) -> str:
    values = plain(array)
    if not values.ndim or not 0 < values.size <= BRIEF:
        return ""
    return f"{nested(values, look, BRIEF)} of {cut(str(values.dtype), KIND)}"


def _measure(array: Any) -> str:
    values = plain(array)
    return f"{_shape(values)}{fingerprint(values)}"


def _masked_measure(array: Any) -> str:
    numpy = sys.modules["numpy"]
    values, mask = plain(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    return f"{_shape(values)}{fingerprint(values)}{fingerprint(mask)}"


def _mapped_measure(array: Any) -> str:
    return _shape(plain(array))


def _shape(values: Any) -> str:
    return f"{' x '.join(map(str, values.shape)) or 'scalar'} of {values.dtype}"


def _sure(value: Any) -> bool:
    """Arrays and scalars that hold no objects, and are not mapped from a file that may have to be waited for."""
    name = type(value).__name__
    return hasattr(value, "dtype") and name != "memmap" and not value.dtype.hasobject


FAMILY = Family(
    {
        "numpy.ndarray": _array,
        "numpy.MaskedArray": _masked,
        "numpy.memmap": _mapped,
        "numpy.generic": _scalar,
        "numpy.str_": _scalar,
        "numpy.bytes_": _scalar,
        "numpy.dtype": _type,
        "numpy.Generator": _generator,
        "numpy.RandomState": _legacy,
        **sparse_arrays.KINDS,
    },
    {
        "numpy.ndarray": _measure,
        "numpy.MaskedArray": _masked_measure,
        "numpy.memmap": _mapped_measure,
        **sparse_arrays.MEASURES,
    },
    sure=_sure,
    briefs={"numpy.ndarray": _brief},
)
