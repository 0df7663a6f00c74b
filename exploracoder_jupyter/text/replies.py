"""Reads a model's reply: its fenced blocks, without thoughts and channel marks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent

from exploracoder_jupyter.core.python_code import is_python, parse_valid_python

# Finds the fenced blocks of a model's reply, also where a fence is opened or closed in an unusual way.
#
# A line of backticks within a string of a program does not close its block: of the places where a Python block may
# end, the first one is taken at which its code can be parsed. Where none can, the block ends at the first closing
# line.

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


# Removes from a model's reply what is not its answer: thoughts, channels, and marks of the chat template.
#
# Servers should do this, and many do not for a model that they do not know. What looks like such a mark may belong
# to a program, so nothing is removed from a text that is Python, from its fenced blocks, or where prose quotes it.

_FORMS = (
    (r"<(?:think|thinking|thoughts?)>", r"</(?:think|thinking|thoughts?)>"),
    (r"<(?:reasoning|reason)>", r"</(?:reasoning|reason)>"),
    (r"<(?:reflection|scratchpad|analysis)>", r"</(?:reflection|scratchpad|analysis)>"),
    (r"<seed:think>", r"</seed:think>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"◁think▷", r"◁/think▷"),
)
"""How thoughts begin and end."""
_NOT_QUOTED = r"(?![`'\"])"
_CLOSINGS = tuple(re.compile(closing) for _, closing in _FORMS)
_THOUGHT_OPENING = re.compile("|".join(f"({opening})" for opening, _ in _FORMS))
_FIRST_OPENING = re.compile(rf"\s*(?:{_THOUGHT_OPENING.pattern})")
_LINE_OPENING = re.compile(rf"^[ \t]*(?:{_THOUGHT_OPENING.pattern})", re.MULTILINE)
_CLOSING = re.compile("|".join(closing for _, closing in _FORMS))
_STRAY_CLOSING = re.compile(
    rf"(?<![`'\" \t])(?:{_CLOSING.pattern}){_NOT_QUOTED}|(?<![`'\"])(?:{_CLOSING.pattern})(?=[ \t]*$)", re.MULTILINE
)
"""Some templates open the thought in the prompt, so that a reply has only its end. Prose that names one goes on."""

_MESSAGE = (
    r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*(?P<channel>\w+)(?P<to>[^<\n]{0,200})"
    r"(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>"
)
_CHANNEL = re.compile(_MESSAGE)
"""The beginning of a message in the Harmony format."""
_STRIPPED_CHANNELS = re.compile(r"\A\s*analysis(?=[A-Z\s]).*?assistant\s*final(?=[^a-z])", re.DOTALL)
"""Channels whose marks the server has removed."""
_FUNCTION = re.compile(r"to=functions\.(\w+)")
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|start)\|>")

_HEADER = re.compile(
    r"\s*(?:<s>|<bos>|<\|begin_of_text\|>|<\|im_start\|>\s*assistant\b|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<start_of_turn>\s*model\b|<\|assistant\|>|\[/INST\]|<\|im_sep\|>|<｜Assistant｜>|<\|START_OF_TURN_TOKEN\|>"
    r"|<\|CHATBOT_TOKEN\|>|<\|start_of_role\|>\s*assistant\s*<\|end_of_role\|>|<(?:answer|response|solution)>"
    r"|<\|START_RESPONSE\|>|<\|begin_of_solution\|>|\[BEGIN FINAL RESPONSE\])"
)
"""The beginning of the model's turn, or of its answer."""
_MAX_THOUGHTS = 20
"""Thoughts removed after the beginning of a text."""
_MAX_MARKS = 50
"""Marks that may be the end of a turn."""
_MARKED = re.compile(r"[<◁]|\[/?(?:THINK|INST|BEGIN FINAL)|\A\s*analysis")
"""What occurs in every text that this module changes."""


def without_thinking(text: str) -> str:
    """Return the answer in a reply; nothing remains if its thoughts never end."""
    text = text.lstrip(INVISIBLE)
    if not _MARKED.search(text) or is_program(text):
        return text.lstrip("\n")
    text = _without_beginning(text.replace("\r\n", "\n"))
    if (program := program_before_mark(text)) is None:
        text = _without_beginning(_answering_channel(text))
        program = program_before_mark(text)
    if program is None:
        program = _without_end(_without_stray_end(_without_later_thoughts(text)))
    return program.lstrip("\n")


def after_last_thought(text: str) -> str:
    """Return what follows the last end of a thought, wherever it occurs; empty if there is none."""
    ends = [closing.end() for closing in _CLOSING.finditer(text)]
    return text[ends[-1] :] if ends else ""


def _answering_channel(text: str) -> str:
    if stripped := _STRIPPED_CHANNELS.match(text):
        return text[stripped.end() :]
    messages = [found for found in _CHANNEL.finditer(text) if found["channel"] in ("analysis", "commentary", "final")]
    begins = bool(messages) and not text[: messages[0].start()].strip()
    final = next((found for found in messages if found["channel"] == "final"), None)
    if final and (begins or not _within_blocks(text, final.start())):
        return text[final.end() :]
    if not begins:
        return text
    calls = [_tool_call(text, found) for found in messages if _FUNCTION.search(found["to"])]
    said = [_content(text, found) for found in messages if found["channel"] == "commentary"]
    return "\n".join(calls or said)


def _tool_call(text: str, message: re.Match[str]) -> str:
    """Return a call in the form in which other models write it into their text."""
    function = _FUNCTION.search(message["to"])
    name = function[1] if function else ""
    return f'<tool_call>{{"name": "{name}", "arguments": {_content(text, message)}}}</tool_call>'


def _content(text: str, message: re.Match[str]) -> str:
    end = _MESSAGE_END.search(text, message.end())
    return text[message.end() : end.start() if end else len(text)]


def _without_beginning(text: str) -> str:
    """Remove thoughts and the header of the turn from the beginning."""
    place = 0
    while True:
        if header := _HEADER.match(text, place):
            place = header.end()
        elif opening := _FIRST_OPENING.match(text, place):
            closing = _closing_of(opening).search(text, opening.end())
            place = closing.end() if closing else len(text)
        else:
            return text[place:]


def _without_later_thoughts(text: str) -> str:
    place = 0
    for _ in range(_MAX_THOUGHTS):
        if (opening := _LINE_OPENING.search(text, place)) is None:
            break
        if _within_blocks(text, opening.start()):
            place = opening.end()
            continue
        closing = _closing_of(opening).search(text, opening.end())
        text, place = text[: opening.start()] + (text[closing.end() :] if closing else ""), opening.start()
    return text


def _without_stray_end(text: str) -> str:
    """Remove the thoughts that only an end shows; without anything behind it, only the end itself."""
    ends, stop = list(_STRAY_CLOSING.finditer(text)), len(text)
    is_code = place_in_blocks(place_blocks(text) if ends else [])
    for end in reversed(ends):
        if is_code(end.start()):
            continue
        if text[end.end() : stop].strip():
            return text[end.end() : stop]
        stop = end.start()
    return text[:stop]


def _without_end(text: str) -> str:
    """Remove the end of the turn and what was made up after it."""
    first = len(text) - len(text.lstrip())
    marks = [mark for mark in END_MARK.finditer(text, first) if mark.start() > first]
    placed = place_blocks(text) if marks else []
    ends, is_code = {one.end for one in placed}, place_in_blocks(placed)
    for mark in islice((mark for mark in marks if not is_code(mark.start())), _MAX_MARKS):
        start = mark.start()
        if start in ends or (text[start - 1] not in "`'\"" and _ends_turn(text, mark)):
            return text[:start].rstrip()
    return text


def _ends_turn(text: str, mark: re.Match[str]) -> bool:
    """Whether prose cannot go on after this mark: it is alone on its line, or nothing of this turn follows."""
    is_alone = not text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()].strip()
    return is_alone or LAST_MARKS.match(text, mark.end()) is not None


def _within_blocks(text: str, place: int) -> bool:
    return place_in_blocks(place_blocks(text))(place)


def _closing_of(opening: re.Match[str]) -> re.Pattern[str]:
    assert opening.lastindex is not None
    return _CLOSINGS[opening.lastindex - 1]
