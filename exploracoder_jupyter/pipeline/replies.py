"""The forms of the model's replies: the only place where they are parsed.

Small models are expected: a fence around JSON, trailing commas, prose around a plan, a bare list where an object was
asked for are mended; what stays unusable is a `ReplyError`, which the caller answers by asking once more.
"""

from __future__ import annotations

import re
from typing import TypeVar

import json_repair
from pydantic import BaseModel, Field, JsonValue, ValidationError

from exploracoder_jupyter.errors import ReplyError


class PlanReply(BaseModel):
    """Reply to `plan`."""

    subtasks: list[str] = Field(min_length=1)


class PlannerReply(BaseModel):
    """One planner within a `PlannersReply`."""

    requirement: str
    steps: list[str] = Field(min_length=1)


class PlannersReply(BaseModel):
    """Reply to `planners`."""

    planners: list[PlannerReply]


class RecommendReply(BaseModel):
    """Reply to `recommend`."""

    apis: list[str]
    """Paths, most useful first; those left out are dropped."""
    satisfied: bool = False
    """Whether the experience so far already does this subtask."""
    reason: str = ""
    remaining: list[str] | None = None
    """The revised subtasks after this one; `None` keeps the plan."""


class RecommendGlobalReply(BaseModel):
    """Reply to `recommend_global`."""

    apis: list[str]


_R = TypeVar("_R", bound=BaseModel)


def parse_json(text: str, form: type[_R]) -> _R:
    """The reply as `form`.

    Raises:
        ReplyError: it cannot be mended into that form; the message says what is wrong, in words for the model.
    """
    value = _mend(text)
    single = _only_list_field(form)
    if isinstance(value, list) and single:
        value = {single: value}
    try:
        return form.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the reply"
        raise ReplyError(f"{where}: {first['msg']}") from error


def _mend(text: str) -> JsonValue:
    body = _fenced(text) or text
    value: JsonValue = json_repair.loads(body)  # type: ignore[assignment]
    if value in ("", None, [], {}):
        raise ReplyError("no JSON object was found in the reply.")
    return value


def _only_list_field(form: type[BaseModel]) -> str | None:
    required = [name for name, field in form.model_fields.items() if field.is_required()]
    return required[0] if len(required) == 1 else None


_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


def _fenced(text: str) -> str | None:
    blocks = [match.group(2) for match in _FENCE.finditer(text)]
    return max(blocks, key=len) if blocks else None


def parse_code(text: str) -> str:
    """The Python code of a reply: its fenced blocks joined, or the whole text if it compiles without a fence.

    Raises:
        ReplyError: there is no code in it.
    """
    text = _THINKING.sub("", text).strip()
    blocks = [
        m.group(2) for m in _FENCE.finditer(text) if m.group(1).lower() in ("", "python", "py", "python3", "ipython")
    ]
    code = "\n".join(blocks).strip("\n") if blocks else text
    if not code.strip():
        raise ReplyError("the reply holds no code.")
    if not blocks and not _compiles(code):
        raise ReplyError("the reply is neither a fenced code block nor valid Python.")
    return code


def _compiles(code: str) -> bool:
    try:
        compile(code, "<reply>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
