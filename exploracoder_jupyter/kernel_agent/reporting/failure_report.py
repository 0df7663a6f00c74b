"""Explains to a model why a cell failed: the user's own frames, the failing expression, the values in it."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.bounded_output import shorten
from exploracoder_jupyter.kernel_agent.reporting.failing_frames import (
    SkippedFrames,
    UserFrame,
    cell_filename,
    relevant_frames,
)
from exploracoder_jupyter.kernel_agent.reporting.failing_values import describe_values, values_in_expression
from exploracoder_jupyter.kernel_agent.reporting.name_suggestions import suggest_keys, suggest_names
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, truncate

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
        facts = list(_facts(error, namespace))
        schema = [fact.schema if fact.shows else fact.text for fact in facts]
        report = shorten("\n".join(fact.text for fact in facts), _MAX_REPORT)
        lines = suggest_names(error, _innermost_user_frame(error, namespace), namespace)
        return {"report": report, "schema": shorten("\n".join(filter(None, schema)), _MAX_REPORT), "nearest": lines}
    except Exception:  # a cell may have broken anything; the traceback is shown instead
        return {"report": "", "schema": "", "nearest": []}


def _facts(error: BaseException, namespace: Mapping[str, Any]) -> Iterator[Fact]:
    cell = cell_filename(error, namespace)
    chain = [
        (current, introduction, relevant_frames(current, namespace, cell)) for current, introduction in _chain(error)
    ]
    texts = describe_values(
        [value for _, _, frames in chain for user_frame in frames for _, value in _frame_values(user_frame)]
    )
    for current, introduction, frames in chain:
        if introduction and not frames and _type_and_message(current) == _type_and_message(error):
            continue
        yield from _headline(current, introduction)
        for user_frame in frames:
            yield from _frame_facts(user_frame, texts)
        yield from _syntax_error_facts(current, raised_by_cell=bool(frames))
        keys = ", ".join(map(repr, suggest_keys(current, _last_user_frame(frames))))
        yield from [Fact(f"  Keys like it: {keys}", shows=True)] if keys else []
        yield from _group_facts(current)


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
    name = type_path(error)
    message = shorten(_message(error).strip(), _MAX_MESSAGE)
    yield Fact(
        f"{introduction}{name}: {message}" if message else f"{introduction}{name}",
        shows=True,
        schema=f"{introduction}{name}",
    )
    notes = getattr(error, "__notes__", None)
    for note in notes[:_MAX_NOTES] if type(notes) is list else []:
        if type(note) is str:
            yield Fact(f"Note: {shorten(note, _MAX_NOTE)}", shows=True)


def _type_and_message(error: BaseException) -> tuple[type, str]:
    return type(error), _message(error)


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(error)
    except Exception as fault:
        return f"(its text raises {type_path(fault)})"


def _frame_facts(user_frame: UserFrame | SkippedFrames, texts: Mapping[int, str]) -> Iterator[Fact]:
    if isinstance(user_frame, SkippedFrames):
        yield Fact(f"  {user_frame.text}")
        return
    line, expression = truncate(user_frame.line, _MAX_LINE), truncate(user_frame.expression, _MAX_LINE)
    at = f"  {user_frame.location}"
    yield Fact(f"{at}: {line}" if line else at, shows=not user_frame.in_cell, schema=at)
    if expression and expression != line:
        yield Fact(f"    failed in: {expression}", shows=not user_frame.in_cell)
    for name, value in _frame_values(user_frame):
        yield Fact(f"    {name}: {texts[id(value)]}", shows=True, schema=f"    {name}: {type_path(value)}")


def _frame_values(user_frame: UserFrame | SkippedFrames) -> list[tuple[str, Any]]:
    return values_in_expression(user_frame) if isinstance(user_frame, UserFrame) else []


def _syntax_error_facts(error: BaseException, *, raised_by_cell: bool) -> Iterator[Fact]:
    """Yield the line of a syntax error with a marker; the text may come from data, unless no code has run."""
    if not isinstance(error, SyntaxError) or not isinstance(error.text, str):
        return
    line, offset = error.text.partition("\n")[0][:_MAX_LINE], error.offset or 1
    mark = f"\n    {' ' * (offset - 1)}^" if 0 < offset <= len(line) + 1 else ""
    yield Fact(f"  line {error.lineno}:\n    {line}{mark}", shows=raised_by_cell)


def _group_facts(error: BaseException) -> Iterator[Fact]:
    """Yield the headlines of the exceptions in a group."""
    group = getattr(builtins, "BaseExceptionGroup", ())  # from Python 3.11
    if isinstance(error, group):
        inner = error.exceptions
        for current in inner[:_MAX_GROUP_ITEMS]:
            yield from _headline(current, "  Holds ")
        if len(inner) > _MAX_GROUP_ITEMS:
            yield Fact(f"  ... {len(inner) - _MAX_GROUP_ITEMS:,} more")


def _last_user_frame(frames: list[UserFrame | SkippedFrames]) -> UserFrame | None:
    return next((user_frame for user_frame in reversed(frames) if isinstance(user_frame, UserFrame)), None)


def _innermost_user_frame(error: BaseException, namespace: Mapping[str, Any]) -> UserFrame | None:
    return _last_user_frame(relevant_frames(error, namespace))
