"""Finds the fenced blocks of a model's reply, also where a fence is opened or closed in an unusual way.

A line of backticks within a string of a program does not close its block: of the places where a Python block may end,
the first one is taken at which its code can be parsed. Where none can, the block ends at the first closing line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent

from exploracoder_jupyter.core.python_code import is_python, parse_valid_python

INVISIBLE = "\ufeff\u200b\u2060"
"""A byte order mark, and other characters without width that precede texts."""
_NAMED = r"(?:i?py(?:thon|con)?\d?|language-python|\{python\})"
_OPENING = re.compile(
    rf"(?:^(?P<indent>[ \t{INVISIBLE}]*)(?P<fence>`{{3,}}+|~{{3,}}+)[ \t]*+(?P<info>[^\n`]*+)"
    rf"|(?<=[^\n`])(?P<within>`{{3,}}+)[ \t]*(?P<named>{_NAMED})[ \t]*)\n",
    re.MULTILINE | re.IGNORECASE,
)
"""At the beginning of a line, or behind prose if the language is Python."""
_TILDES = re.compile(r"^[ \t]*~~~", re.MULTILINE)
_CLASS = re.compile(r"\A(?:\{?\.|language-|lang-|jupyter-|\{code-(?:cell|block)\}[ \t]*|\{)")
"""What precedes the language in the forms of Pandoc, HTML, MyST and Quarto."""
_LANGUAGE = re.compile(r"[\w+.-]*")
_PYTHON = re.compile(r"(?:.*-)?i?py(?:thon|con)?[\d.]*|jupyter|tool_code")
_MAX_ATTEMPTS = 24
"""Places tried as the end of one block."""
_MAX_PARSED = 400_000
"""Characters parsed to find the ends of all blocks of a text."""
_PARSING_COST = 1_000
"""What parsing costs in addition to its characters."""

_TURN = (
    r"<\|(?:im_start|start|start_of_role)\|>(?=\s*(?:user|assistant|system|tool)\b)|<\|start_header_id\|>"
    r"|<start_of_turn>(?=\s*(?:user|model)\b)|<\|(?:user|assistant|system|observation)\|>|<｜(?:User|Assistant)｜>|\[INST\]"
)
"""The beginning of a turn, as chat templates write it."""
_ENDING = (
    r"<\|(?:im_end|eot_id|eom_id|eot|end|endoftext|end_of_text|return|call|END_OF_TURN_TOKEN|END_RESPONSE"
    r"|end_of_solution|endofresponse)\|>"
    r"|<｜end▁of▁sentence｜>|</?s>|<end_of_turn>|<eos>|</(?:answer|response|solution)>|\[/INST\]|\[END FINAL RESPONSE\]"
)
END_MARK = re.compile(rf"(?:{_ENDING})(?=[ \t]*(?:$|{_ENDING}|{_TURN}))|^[ \t]*(?:{_TURN})", re.MULTILINE)
"""The end of a turn at the end of a line, or the beginning of the next one."""
LAST_MARKS = re.compile(rf"(?:\s|{_ENDING})*+(?:\Z|{_TURN})")
"""Nothing but ends of turns up to the end of the text, or to the next turn."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    language: str
    """In lower case; `python` for all names of Python; empty if the fence names none."""
    body: str


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A fenced block and its place in the text, fences included."""

    start: int
    end: int
    block: Block


def blocks(text: str) -> list[Block]:
    """Return the dedented fenced blocks in order. An unclosed one extends to the end."""
    return [placed.block for placed in place_blocks(_with_plain_lines(text))]


def split_fenced(text: str) -> list[tuple[str, Block]]:
    """Return the fenced blocks in order, each with the prose since the previous one."""
    text, end, found = _with_plain_lines(text), 0, []
    for placed in place_blocks(text):
        found.append((text[end : placed.start], placed.block))
        end = placed.end
    return found


def without_fenced_blocks(text: str) -> str:
    """Return the prose alone, with a blank line in place of every fenced block."""
    text, end, prose = _with_plain_lines(text), 0, []
    for placed in place_blocks(text):
        prose.append(text[end : placed.start])
        end = placed.end
    return "\n".join([*prose, text[end:]])


def place_in_blocks(placed: Sequence[PlacedBlock]) -> Callable[[int], bool]:
    """Return a function that tells whether a place in the text is within one of its blocks."""
    starts = [one.start for one in placed]

    def is_within(place: int) -> bool:
        before = bisect_right(starts, place) - 1
        return before >= 0 and place < placed[before].end

    return is_within


def place_blocks(text: str) -> list[PlacedBlock]:
    """Return the fenced blocks of a text whose lines end with a newline alone."""
    found, position, parser = [], 0, _Parser()
    while opening := _OPENING.search(text, position):
        placed, position = _place(text, opening, parser)
        found.append(placed)
    return found


def _place(text: str, opening: re.Match[str], parser: _Parser) -> tuple[PlacedBlock, int]:
    """Return the block that opens here, and where to look for the next one."""
    start, width = opening.end(), len((opening["indent"] or "").strip(INVISIBLE))
    fence = re.escape(opening["fence"] or opening["within"])
    language = _language(opening["info"] or opening["named"] or "")
    closing = re.compile(rf"^[ \t]*{fence}[`~]*[ \t]*(?=(?:(?:{_ENDING})[ \t]*)*$)", re.MULTILINE)
    ends = _ends(text, start, fence, closing) if language in ("", "python") else iter(())
    for begin, end in ends:
        if not parser.may_parse:
            break
        if (body := parser.read(text[start:begin], width)) is not None:
            # The fence that opens the next block may end this one.
            opens = _OPENING.match(text, begin) and not closing.match(text, begin)
            return PlacedBlock(opening.start(), end, Block(language, body)), begin if opens else end
    usual = closing.search(text, start)
    begin, end = usual.span() if usual else (len(text), len(text))
    body = text[start:begin].lstrip(INVISIBLE)
    return PlacedBlock(opening.start(), end, Block(language, dedent(body) if width else body)), end


def program_before_mark(text: str) -> str | None:
    """Return the longest part of the text that is Python and ends with it or at a mark; `None` if there is none."""
    starts, parser = [mark.start() for mark in END_MARK.finditer(text)], _Parser()
    tried = (text[:start] for start in (len(text), *starts[:-_MAX_ATTEMPTS:-1]))
    return next((code.rstrip() for code in tried if code.strip() and parser.parses(code) and _is_unfenced(code)), None)


def is_program(text: str) -> bool:
    """Whether the text is Python as a whole; fences of tildes would be operators."""
    return is_python(text) and _is_unfenced(text)


def _is_unfenced(code: str) -> bool:
    """Whether lines of tildes in valid Python, if any, are within strings."""
    marked, count = _TILDES.subn("$", code)
    return not count or is_python(marked)


class _Parser:
    """Parses code within a limit of time, by the number of characters; beyond it nothing counts as Python."""

    def __init__(self) -> None:
        self._left = _MAX_PARSED

    @property
    def may_parse(self) -> bool:
        """Whether the limit is not reached."""
        return self._left >= 0

    def parses(self, code: str) -> bool:
        """Whether the code is Python."""
        self._left -= len(code) + _PARSING_COST
        return self.may_parse and parse_valid_python(code) is not None

    def read(self, code: str, width: int) -> str | None:
        """Return the code without `width` columns of indentation and what else does not belong to it, or `None`."""
        code = code.lstrip(INVISIBLE)
        outdented = re.sub(rf"^[ \t]{{1,{width}}}", "", code, flags=re.MULTILINE) if width else code
        marks = [mark.start() for mark in END_MARK.finditer(outdented)]
        cut = [outdented[:start] for start in marks[:-_MAX_ATTEMPTS:-1]]
        known: set[str] = set()
        for tried in (outdented, *([dedent(outdented)] if width else []), *cut):
            if tried not in known and self.parses(tried):
                return tried
            known.add(tried)
        return None


def _ends(text: str, start: int, fence: str, closing: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the places where the block that starts here may end, the most likely first."""
    yield from (found.span() for found in islice(closing.finditer(text, start), _MAX_ATTEMPTS))
    unusual = re.compile(rf"^[ \t]*{fence}(?=.)|{fence}[`~]*[ \t]*(?=$|{_ENDING})", re.MULTILINE)
    yield from [found.span() for found in unusual.finditer(text, start)][:-_MAX_ATTEMPTS:-1]
    yield len(text), len(text)


def _language(info: str) -> str:
    named = _LANGUAGE.match(_CLASS.sub("", info.strip().lower()))
    language = named[0] if named else ""
    return "python" if _PYTHON.fullmatch(language) else language


def _with_plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n")
