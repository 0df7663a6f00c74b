"""Shortens documentation, code and output for prompts: prose gives way before grammars, which are useless in part.

What fits is never cut, and nothing is left out that is shorter than the note in its place.
"""

from __future__ import annotations

import ast
import re
from itertools import accumulate
from typing import Final

from exploracoder_jupyter.core.python_code import parse_python
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


@heuristic("shortening code", lambda code, most: _head_and_tail(code, most))
def shorten_code(code: str, most: int) -> str:
    """Return head and tail of the code in about `most` characters, with a comment about the rest.

    It is cut between statements, or between lines where it cannot be parsed or that would leave nothing.
    """
    lines = code.splitlines()
    if len(code) <= most:
        return code
    head, tail = _fitting(lines, most * 2 // 3), _fitting(lines[::-1], most // 3)
    starts = _statement_starts(code)
    head = max((line for line in starts if 0 < line <= head), default=head)
    tail = len(lines) - min((line for line in starts if line >= len(lines) - tail), default=len(lines) - tail)
    left = lines[head : len(lines) - tail]
    note = f"# ... ({len(left)} lines left out) ..."
    if sum(len(line) + 1 for line in left) <= len(note):
        return code
    return "\n".join([*lines[:head], note, *lines[len(lines) - tail :]])


def shorten_example(code: str, name: str, most: int) -> str:
    """Return an example in at most `most` characters: whole, or its statements up to the one that calls this name.

    Empty if that does not fit, because what comes before a call does not show how it is made.
    """
    if len(code) <= most:
        return code
    lines, called = code.splitlines(), re.compile(rf"\b{re.escape(name)}\(")
    ends = ((one.lineno - 1, one.end_lineno or one.lineno) for one in parse_python(code).body)
    end = next((end for start, end in ends if called.search("\n".join(lines[start:end]))), 0)
    short = "\n".join([*lines[:end], "# ..."])
    return short if end and len(short) <= most else ""


def _statement_starts(code: str) -> list[int]:
    """Return the numbers of the lines at which a statement begins, from 0; none if the code cannot be parsed."""
    statements = (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.stmt))
    return [min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1 for node in statements]


def _fitting(lines: list[str], most: int) -> int:
    """Return how many of the first lines fit."""
    sizes = accumulate(len(line) + 1 for line in lines)
    return sum(size <= most for size in sizes)


def _head_and_tail(text: str, most: int) -> str:
    """Return both ends of a text, in whole lines where that leaves at least half of each, and no part of a doctest."""
    if len(text) <= most:
        return text
    head, tail = text[: most * 2 // 3], text[len(text) - most // 3 :]
    if (end := head.rfind("\n")) >= len(head) // 2:
        head = head[:end]
    if 0 <= (start := tail.find("\n")) < len(tail) // 2:
        tail = tail[start + 1 :]
    if ">>>" in head[(start := head.rfind("\n\n")) :] and not text.startswith("\n\n", len(head)) and start > 0:
        head = head[:start]
    if ">>>" in tail.partition("\n\n")[0] and "\n\n" in tail:
        tail = tail.partition("\n\n")[2]
    missing = len(text) - len(head) - len(tail)
    note = _note(missing)
    return text if missing <= len(note) else f"{head}\n{note}\n{tail}"


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
