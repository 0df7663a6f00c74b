"""Explains to a model why a cell failed: the user's own frames, the failing expression, the values in it."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.bounded_output import shorten
from exploracoder_jupyter.kernel_agent.reporting.failing_code import (
    Entry,
    UserFrame,
    cell_filename,
    describe_values,
    relevant_frames,
    values_in_expression,
)
from exploracoder_jupyter.kernel_agent.reporting.name_suggestions import (
    list_columns,
    list_members,
    suggest_keys,
    suggest_names,
)
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, truncate

_MAX_REPORT = 3_900
_MAX_MESSAGE = 2_000
_MAX_NOTE = 500
_MAX_LINE = 240
_MAX_NOTES = 5
_MAX_CAUSES = 3
_MAX_GROUP_ITEMS = 8


def build_report(error: BaseException, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Build a report on the error that ended a cell.

    Keys: `report` (several lines), `schema` (the same without values), `nearest` (names similar to a missing one, with
    signatures). Runs no code of a value in this process except the exception's own `__str__`, which the shell has
    called already. Never raises.
    """
    try:
        cell = cell_filename(error, namespace)
        chain = [(*link, relevant_frames(link[0], namespace, cell)) for link in _chain(error)]
        facts = list(_facts(chain))
        lines = suggest_names(error, _last_user_frame(chain[0][2]), namespace)
        if not lines and (members := list_members(error)):
            facts.append(Fact(f"  {members}"))
        schema = [fact.schema if fact.shows else fact.text for fact in facts]
        report = shorten("\n".join(fact.text for fact in facts), _MAX_REPORT)
        return {"report": report, "schema": shorten("\n".join(filter(None, schema)), _MAX_REPORT), "nearest": lines}
    except Exception:  # a cell may have broken anything; the traceback is shown instead
        return {"report": "", "schema": "", "nearest": []}


def _facts(chain: list[tuple[BaseException, str, list[Entry]]]) -> Iterator[Fact]:
    error = chain[0][0]
    texts = describe_values([value for _, _, frames in chain for entry in frames for _, value in _frame_values(entry)])
    for current, introduction, frames in chain:
        same = type(current) is type(error) and _message(current) == _message(error)
        if introduction and not frames and same:
            continue
        yield from _headline(current, introduction)
        for entry in frames:
            yield from _frame_facts(entry, texts)
        yield from _syntax_error_facts(current, raised_by_cell=bool(frames))
        if keys := suggest_keys(current, _last_user_frame(frames)):
            yield Fact(f"  Keys like it: {', '.join(map(repr, keys))}", shows=True)
        for line in list_columns(_last_user_frame(frames)) if current is error else ():
            yield Fact(f"  {line}")
        if hasattr(builtins, "BaseExceptionGroup") and isinstance(current, BaseExceptionGroup):  # from Python 3.11
            for inner in current.exceptions[:_MAX_GROUP_ITEMS]:
                yield from _headline(inner, "  Holds ")
            if (missing := len(current.exceptions) - _MAX_GROUP_ITEMS) > 0:
                yield Fact(f"  ... {missing:,} more")


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """Yield the error and its causes, each with the words that introduce it."""
    seen: set[int] = set()
    current: BaseException | None = error
    introduction = ""
    while current is not None and id(current) not in seen and len(seen) <= _MAX_CAUSES:
        yield current, introduction
        seen.add(id(current))
        introduction = "Caused by " if current.__cause__ is not None else "Raised while handling "
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _headline(error: BaseException, introduction: str) -> Iterator[Fact]:
    name = f"{introduction}{type_path(error)}"
    message = shorten(_message(error).strip(), _MAX_MESSAGE)
    yield Fact(f"{name}: {message}" if message else name, shows=True, schema=name)
    notes = getattr(error, "__notes__", None)
    for note in notes[:_MAX_NOTES] if type(notes) is list else []:
        if type(note) is str:
            yield Fact(f"Note: {shorten(note, _MAX_NOTE)}", shows=True)


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(error)
    except Exception as fault:
        return f"(its text raises {type_path(fault)})"


def _frame_facts(entry: Entry, texts: Mapping[int, str]) -> Iterator[Fact]:
    if isinstance(entry, str):
        yield Fact(f"  {entry}")
        return
    line, expression = truncate(entry.line, _MAX_LINE), truncate(entry.expression, _MAX_LINE)
    at = f"  {entry.location}"
    yield Fact(f"{at}: {line}" if line else at, shows=not entry.in_cell, schema=at)
    if expression and expression != line:
        yield Fact(f"    failed in: {expression}", shows=not entry.in_cell)
    for name, value in _frame_values(entry):
        yield Fact(f"    {name}: {texts[id(value)]}", shows=True, schema=f"    {name}: {type_path(value)}")


def _frame_values(entry: Entry) -> list[tuple[str, Any]]:
    return [] if isinstance(entry, str) else values_in_expression(entry)


def _syntax_error_facts(error: BaseException, *, raised_by_cell: bool) -> Iterator[Fact]:
    """Yield the line of a syntax error with a marker; the text may come from data, unless no code has run."""
    if not isinstance(error, SyntaxError) or not isinstance(error.text, str):
        return
    line, offset = error.text.partition("\n")[0][:_MAX_LINE], error.offset or 1
    mark = f"\n    {' ' * (offset - 1)}^" if 0 < offset <= len(line) + 1 else ""
    yield Fact(f"  line {error.lineno}:\n    {line}{mark}", shows=raised_by_cell)


def _last_user_frame(frames: list[Entry]) -> UserFrame | None:
    return next((entry for entry in reversed(frames) if isinstance(entry, UserFrame)), None)
