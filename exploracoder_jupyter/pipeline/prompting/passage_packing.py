"""Packs retrieved APIs and passages into a prompt: the most useful first, within one budget for all of them.

About 4,000 tokens of retrieved text help most, and more does not help (ARKS, section 3.4). Every API is listed before
any is described at length; those that code among the passages calls come first. Code that ran before precedes the
documentation, other passages follow it. Nothing is repeated, and every cut is noted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.types import ApiDoc, Passage
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.api_description import (
    describe_in_full,
    members_line,
    strip_whitespace,
    summary_line,
    truncate,
)
from exploracoder_jupyter.pipeline.prompting.quoting import quote
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten
from exploracoder_jupyter.text.markup_escaping import fenced

CHARACTERS_PER_TOKEN: Final = 3.5
"""Rough average for documentation and code."""

_PASSAGES_SHARE: Final = 0.45
"""Maximum share of the budget for all passages together if there are APIs too."""
_SNIPPETS_SHARE: Final = 0.6
"""Maximum share of the passages' budget for code that ran before if there are other passages."""
_LONGEST_PASSAGE: Final = 2400
_LEAST_PASSAGE: Final = 400
_LONGEST_TITLE: Final = 120
_IN_FULL: Final = 4
"""Number of APIs described at length, including the two ranked first; the others are described in brief."""
_LONG, _BRIEF = 2200, 700


@dataclass(frozen=True, slots=True)
class Packed:
    """The parts of a prompt with retrieved text, quoted; empty if there is none."""

    snippets: str
    """Code that ran before."""
    apis: str
    passages: str
    """From all other sources."""


@heuristic(
    "packing documentation into a prompt",
    lambda apis, passages, tokens: Packed("", quote("\n".join(api.path for api in apis)) if apis else "", ""),
)
def pack(apis: Sequence[ApiDoc], passages: Sequence[Passage], tokens: int) -> Packed:
    """Return as much of both as fits into the token budget, the first ones in full."""
    room = int(tokens * CHARACTERS_PER_TOKEN)
    fresh = _drop_repeated(passages, apis)
    snippets = [item for item in fresh if item.source == "snippet"]
    others = [item for item in fresh if item.source != "snippet"]
    share = int(room * (_PASSAGES_SHARE if apis else 1))
    first = _passages(snippets, int(share * (_SNIPPETS_SHARE if others else 1)))
    second = _passages(others, share - len(first))
    called = {path for item in fresh for path in item.apis}
    code = "\n".join(item.text for item in fresh if item.code and not item.apis)
    ordered = sorted(apis, key=lambda api: not (api.path in called or f".{api.name}(" in code))
    docs = _docs(ordered, {api.path for api in apis[:2]}, room - len(first) - len(second))
    return Packed(*(quote(text) if text else "" for text in (first, docs, second)))


@heuristic("listing APIs", lambda apis: "\n".join(api.path for api in apis))
def api_table(apis: Sequence[ApiDoc]) -> str:
    """Return path, signature and first sentence, one line per API."""
    return "\n".join(map(summary_line, apis))


@heuristic("removing repeated passages", lambda passages: tuple(passages))
def deduplicate(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return the passages in order, without those whose text an earlier one contains."""
    return tuple(_drop_repeated(passages, ()))


def _drop_repeated(passages: Sequence[Passage], apis: Sequence[ApiDoc]) -> list[Passage]:
    known = [strip_whitespace(api.description) for api in apis]
    kept: list[Passage] = []
    for item in passages:
        text = strip_whitespace(item.text)
        if text and not any(text in other for other in known):
            known.append(text)
            kept.append(item)
    return kept


def _passages(passages: Sequence[Passage], room: int) -> str:
    """Render the first passages, each with an even share of the room, and the number of those left out."""
    most = max(room // _LEAST_PASSAGE, 0)
    shown = list(islice(passages, most))
    parts: list[str] = []
    for index, item in enumerate(shown):
        share = min(max(room // (len(shown) - index), _LEAST_PASSAGE), _LONGEST_PASSAGE)
        about = (truncate(item.title, _LONGEST_TITLE), truncate(item.origin, _LONGEST_TITLE), item.licence)
        head = f"[{item.source}: {'; '.join(filter(None, about))}]"
        text = shorten(item.text.strip(), max(share - len(head), _LEAST_PASSAGE // 2))
        parts.append(f"{head}\n{fenced(text, 'python')}" if item.code else f"{head}\n{text}")
        room -= len(parts[-1])
    if len(shown) < len(passages):
        parts.append(f"({len(passages) - len(shown)} more left out)")
    return "\n\n".join(parts)


def _docs(apis: Sequence[ApiDoc], first: Collection[str], room: int) -> str:
    """Render one line for each API that fits, then expand them in order, at length those with paths in `first`."""
    listed = {api.path for api in apis}
    members = [members_line(api, listed) for api in apis]
    parts: list[str] = []
    for api, inside in zip(apis, members, strict=True):
        line = "\n".join(filter(None, (summary_line(api), inside)))
        if len(line) > room:
            break
        parts.append(line)
        room -= len(line) + 2
    for rank, api in enumerate(apis[: len(parts)]):
        most = _LONG if rank < _IN_FULL or api.path in first else _BRIEF
        whole = "\n".join(filter(None, (describe_in_full(api, most), members[rank])))
        if len(whole) - len(parts[rank]) <= room:
            room -= len(whole) - len(parts[rank])
            parts[rank] = whole
    left = [f"({len(apis) - len(parts)} more left out)"] if len(parts) < len(apis) else []
    return "\n\n".join([*parts, *left])
