"""Why a cell failed, as a model should be told it: the user's own frames, the failing expression, the values in it."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.bounded_output import shorten
from exploracoder_jupyter.kernel_agent.reporting.failing_frames import Elsewhere, Place, cell_of, places
from exploracoder_jupyter.kernel_agent.reporting.failing_values import tell, values_at
from exploracoder_jupyter.kernel_agent.reporting.missing_names import keys_like_missing, like_missing
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, cut

_MOST = 3_900
_LONGEST_MESSAGE = 2_000
_LONGEST_NOTE = 500
_LONGEST_LINE = 240
_MOST_NOTES = 5
_MOST_CAUSES = 3
_MOST_WITHIN = 8


def told(error: BaseException, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of an error that a cell ended with.

    Keys: `report` (several lines), `schema` (the same without any value), `nearest` (names like one that is missing,
    with their signatures). Runs nothing of a value's own code in this process but the exception's own text, which the
    shell has asked for already, and never raises.
    """
    try:
        facts = list(_facts(error, namespace))
        schema = [fact.schema if fact.shows else fact.text for fact in facts]
        report = shorten("\n".join(fact.text for fact in facts), _MOST)
        lines = like_missing(error, _innermost(error, namespace), namespace)
        return {"report": report, "schema": shorten("\n".join(filter(None, schema)), _MOST), "nearest": lines}
    except Exception:  # what a cell has spoiled can fail anywhere; then the traceback is shown
        return {"report": "", "schema": "", "nearest": []}


def _facts(error: BaseException, namespace: Mapping[str, Any]) -> Iterator[Fact]:
    cell = cell_of(error, namespace)
    chain = [(one, how, places(one, namespace, cell)) for one, how in _chain(error)]
    texts = tell([value for _, _, found in chain for place in found for _, value in _named(place)])
    for one, how, found in chain:
        if how and not found and _says(one) == _says(error):
            continue
        yield from _headline(one, how)
        for place in found:
            yield from _place_facts(place, texts)
        yield from _written(one, raised_by_cell=bool(found))
        keys = ", ".join(map(repr, keys_like_missing(one, _last(found))))
        yield from [Fact(f"  Keys like it: {keys}", shows=True)] if keys else []
        yield from _within(one)


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """The error with what caused it, and how that is said."""
    seen: set[int] = set()
    one: BaseException | None = error
    how = ""
    while one is not None and id(one) not in seen and len(seen) <= _MOST_CAUSES:
        yield one, how
        seen.add(id(one))
        how = "Caused by " if one.__cause__ is not None else "Raised while handling "
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _headline(error: BaseException, how: str) -> Iterator[Fact]:
    name = type_path(error)
    message = shorten(_message(error).strip(), _LONGEST_MESSAGE)
    yield Fact(f"{how}{name}: {message}" if message else f"{how}{name}", shows=True, schema=f"{how}{name}")
    notes = getattr(error, "__notes__", None)
    for note in notes[:_MOST_NOTES] if type(notes) is list else []:
        if type(note) is str:
            yield Fact(f"Note: {shorten(note, _LONGEST_NOTE)}", shows=True)


def _says(error: BaseException) -> tuple[type, str]:
    return type(error), _message(error)


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(error)
    except Exception as fault:
        return f"(its text raises {type_path(fault)})"


def _place_facts(place: Place | Elsewhere, texts: Mapping[int, str]) -> Iterator[Fact]:
    if isinstance(place, Elsewhere):
        yield Fact(f"  {place.words}")
        return
    line, expression = cut(place.line, _LONGEST_LINE), cut(place.expression, _LONGEST_LINE)
    at = f"  {place.where}"
    yield Fact(f"{at}: {line}" if line else at, shows=not place.own, schema=at)
    if expression and expression != line:
        yield Fact(f"    failed in: {expression}", shows=not place.own)
    for name, value in _named(place):
        yield Fact(f"    {name}: {texts[id(value)]}", shows=True, schema=f"    {name}: {type_path(value)}")


def _named(place: Place | Elsewhere) -> list[tuple[str, Any]]:
    return values_at(place) if isinstance(place, Place) else []


def _written(error: BaseException, *, raised_by_cell: bool) -> Iterator[Fact]:
    """Of a syntax error the line with a mark; it may be of text that the cell read, unless nothing has run."""
    if not isinstance(error, SyntaxError) or not isinstance(error.text, str):
        return
    line, offset = error.text.partition("\n")[0][:_LONGEST_LINE], error.offset or 1
    mark = f"\n    {' ' * (offset - 1)}^" if 0 < offset <= len(line) + 1 else ""
    yield Fact(f"  line {error.lineno}:\n    {line}{mark}", shows=raised_by_cell)


def _within(error: BaseException) -> Iterator[Fact]:
    """Of a group of exceptions what each says."""
    group = getattr(builtins, "BaseExceptionGroup", ())  # from Python 3.11
    if isinstance(error, group):
        inner = error.exceptions
        for one in inner[:_MOST_WITHIN]:
            yield from _headline(one, "  Holds ")
        if len(inner) > _MOST_WITHIN:
            yield Fact(f"  ... {len(inner) - _MOST_WITHIN:,} more")


def _last(found: list[Place | Elsewhere]) -> Place | None:
    return next((place for place in reversed(found) if isinstance(place, Place)), None)


def _innermost(error: BaseException, namespace: Mapping[str, Any]) -> Place | None:
    return _last(places(error, namespace))
