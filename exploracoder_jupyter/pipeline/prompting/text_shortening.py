"""Shortens documentation, code and output for prompts: prose gives way before grammars, which are useless in part."""

from __future__ import annotations

import re
from typing import Final

from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic

_GRAMMAR: Final = re.compile(
    r"^[ \t]*<?[\w-]+>?[ \t]*(?:::=|:=|[=:][^|\n]*[\"'>)\]\w?*+][ \t]*\|[^|\n]*[^|\s])", re.MULTILINE
)
"""A production, such as `term ::= factor` or `sign: "+" | "-"`."""
_CODE: Final = re.compile(r"^[ \t]*(?:>>>|import |from \w+ import )", re.MULTILINE)
_LEAST_PRODUCTIONS: Final = 2
_GRAMMAR_SHARE: Final = 0.75
"""Maximum share of the room for what must not be cut."""
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


@heuristic("shortening a text", lambda text, most: _head_and_tail(text, most))
def shorten(text: str, most: int) -> str:
    """Return head and tail in about `most` characters, with a note of the rest; grammars stay whole if they fit."""
    blocks = _blocks(text) if len(text) > most else []
    whole = [
        index
        for index, block in enumerate(blocks)
        if len(_GRAMMAR.findall(block)) >= _LEAST_PRODUCTIONS and not _CODE.search(block)
    ]
    if not whole or sum(len(blocks[index]) for index in whole) > most * _GRAMMAR_SHARE:
        return _head_and_tail(text, most)
    kept, room = set(whole), most - sum(len(blocks[index]) for index in whole)
    for index, block in enumerate(blocks):
        if index not in kept and len(block) <= room:
            kept.add(index)
            room -= len(block)
    parts: list[str] = []
    missing = 0
    for index, block in enumerate(blocks):
        if index in kept:
            parts += [_note(missing)] * bool(missing) + [block]
        missing = 0 if index in kept else missing + len(block)
    return "\n\n".join(parts + [_note(missing)] * bool(missing))


def _head_and_tail(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n{_note(len(text) - head - tail)}\n{text[-tail:]}"


def _blocks(text: str) -> list[str]:
    """Return the blocks that blank lines separate; a fenced block is one."""
    blocks: list[str] = []
    is_open = False
    for block in re.split(r"\n[ \t]*\n", text):
        blocks = [*blocks[:-1], f"{blocks[-1]}\n\n{block}"] if is_open else [*blocks, block]
        is_open ^= bool(len(_FENCE.findall(block)) % 2)
    return blocks


def _note(missing: int) -> str:
    return f"... ({missing} characters left out) ..."
