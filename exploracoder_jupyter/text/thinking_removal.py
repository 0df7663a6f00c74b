"""Removes from a model's reply what is not its answer: thoughts, channels, and marks of the chat template.

Servers should do this, and many do not for a model that they do not know. What looks like such a mark may belong to a
program, so nothing is removed from a text that is Python, from its fenced blocks, or where prose quotes it.
"""

from __future__ import annotations

import re
from itertools import islice

from exploracoder_jupyter.text.fenced_blocks import (
    END_MARK,
    INVISIBLE,
    LAST_MARKS,
    is_program,
    place_blocks,
    place_in_blocks,
    program_before_mark,
)

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
_OPENING = re.compile("|".join(f"({opening})" for opening, _ in _FORMS))
_FIRST_OPENING = re.compile(rf"\s*(?:{_OPENING.pattern})")
_LINE_OPENING = re.compile(rf"^[ \t]*(?:{_OPENING.pattern})", re.MULTILINE)
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
