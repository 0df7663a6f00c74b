"""Extracts values from the text of small models: faulty JSON, numbered lists in prose.

This module does not know the forms of replies; `reply_parsing` tries the values in the order in which they are yielded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import cast

import json_repair
from pydantic import JsonValue

from exploracoder_jupyter.text.fenced_blocks import blocks

_NUMBERED = re.compile(
    r"^(?P<indent>[ \t]*)(?:[*_#]+[ \t]*)?(?:(?:step|subtask)[ \t]*)?\d+[*_]*[.):](?!\d)[ \t]*(?P<text>\S.*)$",
    re.I | re.M,
)
_CODE_SPAN = re.compile(r"(`[^`]*`)")
_EMPHASIS = re.compile(r"(?<![\w*)\]])\*\*(?=[^\s*])(.{1,300}?)(?<=[^\s*])\*\*(?![\w*(\[])")
"""Markdown's strong emphasis, but not powers and keyword arguments. Underscores are kept: dunder names need them."""
_BULLET = re.compile(r"^(?P<indent>[ \t]*)[-*•+][ \t]+(?P<text>\S.*)$", re.MULTILINE)


_BRACKET = re.compile(r"[\[\]{}]")
_LONGEST_REPAIRED = 30_000
"""Characters; the running time of json_repair is quadratic in their number."""
_DEEPEST_REPAIRED = 50
"""Nesting depth of brackets; the running time is at least quadratic in it."""


def json_values(text: str) -> Iterator[JsonValue]:
    """Yield the JSON values that the text may mean, the most certain first; a list in prose yields a list of texts.

    If such a list begins before any brace, brackets within its items are not the reply.
    """
    named = ("json", "jsonc", "json5")
    bodies = [one.body for one in sorted(blocks(text), key=lambda one: (one.language not in named, -len(one.body)))]
    prose: list[JsonValue] = [*parse_list(text)]
    for source in bodies:
        yield from _decode_exact(source)
    first, brace = _NUMBERED.search(text) or _BULLET.search(text), re.search(r"[{\[]", text)
    if first and (brace is None or first.start() < brace.start()):
        yield from (value for value in _decode_exact(text) if isinstance(value, dict))
        yield prose
    else:
        yield from _decode_exact(text)
    for source in (*bodies, text):
        yield from _decode_repaired(source)
    if prose:
        yield prose


def parse_list(text: str) -> list[str]:
    """Return the items of a list in prose: numbered ones if there are any, else bullets; nested items are left out."""
    found = list(_NUMBERED.finditer(text)) or list(_BULLET.finditer(text))
    if not found:
        return []
    outer = min(len(match["indent"]) for match in found)
    return [strip_markdown(match["text"]) for match in found if len(match["indent"]) == outer]


def strip_markdown(text: str) -> str:
    """Return the text on one line without Markdown's emphasis."""
    line = join_lines(text)
    if line.count("**") % 2:  # half of a pair whose other half preceded the number
        line = line.removeprefix("**").removesuffix("**")
    parts = _CODE_SPAN.split(line)
    return "".join(part if number % 2 else _EMPHASIS.sub(r"\1", part) for number, part in enumerate(parts)).strip()


def join_lines(text: str) -> str:
    """Join the lines of the text; blanks within lines may be data and are kept."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def _decode_exact(source: str) -> Iterator[JsonValue]:
    """Yield valid JSON that starts at the first brace or bracket, or at the first of the other kind after it.

    Yields nothing from inside a truncated object, since it would be taken for the whole.
    """
    end = 0
    for start in sorted(at for at in (source.find("{"), source.find("[")) if at >= 0):
        if start < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(source, start)
        except (ValueError, RecursionError):
            if source[start] == "{":
                return
            continue
        yield value


def _decode_repaired(source: str) -> Iterator[JsonValue]:
    """Yield values that json_repair finds. It invents values from prose, so only the right kind is used."""
    brace, bracket = source.find("{"), source.find("[")
    value = _repair(source[brace:]) if brace >= 0 else None
    objects = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if value and (isinstance(value, dict) or objects):
        yield value
        if brace < bracket:
            return
    value = _repair(source[bracket:]) if bracket >= 0 else None
    if value and isinstance(value, list):
        yield value


def _repair(source: str) -> JsonValue:
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(source))
    if len(source) > _LONGEST_REPAIRED or max(accumulate(steps), default=0) > _DEEPEST_REPAIRED:
        return None
    try:
        return cast(JsonValue, json_repair.loads(source))
    except Exception:  # its own assertions fail on some texts; then there is no value, whatever the reason
        return None
