"""The reply to `judge`: a verdict word on a line of its own, a line for each input, and perhaps a corrected program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from exploracoder_jupyter.errors import ReplyError
from exploracoder_jupyter.pipeline.mending import blocks, fenced, plain, values
from exploracoder_jupyter.pipeline.replies import encodable, parse_code, without_thinking
from exploracoder_jupyter.types import Judgement, Opinion, Ruling

_WORDS: dict[Ruling, str] = {
    "wrong": r"wrong|incorrect|not (?:right|correct)|fail(?:s|ed)?",
    "unsure": r"unsure|uncertain|unclear|unknown|not sure|cannot (?:tell|say)",
    "right": r"right|correct|pass(?:es|ed)?",
}
_ANY = "|".join(_WORDS.values())
_LABEL = r"(?:(?:overall|final|my)\s+)?(?:verdict|judge?ment|conclusion|answer|overall)"
_GAP = r"[\s.:;,*—–-]*"
_ALONE = re.compile(rf"^\W*(?:{_LABEL}\W+(?:is\W+)?)?(?P<word>{_ANY})\W*$", re.I)
_LABELLED = re.compile(rf"^\W*{_LABEL}\W+(?:is\W+)?(?P<word>{_ANY})\b{_GAP}(?P<reason>.*)$", re.I)
_ONE = re.compile(
    rf"^\W*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b[^:=—–-]*[:=—–-]+\W*(?P<word>{_ANY})\b{_GAP}(?P<reason>.*)$",
    re.I,
)
_BARE = re.compile(rf"^\W*(?P<word>{_ANY})\b{_GAP}(?P<reason>.*)$", re.I)
"""A verdict below a heading."""
_HEADING = re.compile(r"^(?P<sign>#*)\s*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b(?P<rest>.*)$", re.I)
_PYTHON = ("python", "py", "python3", "ipython")
_MOST_REASON = 400


@dataclass(frozen=True, slots=True)
class Ruled:
    """A judgement, and the program that is better, if one was given."""

    judgement: Judgement
    code: str | None = None


def parse_ruling(text: str, ids: Sequence[str]) -> Ruled:
    """The judgement in a reply about the inputs of these ids.

    A reply that says both `right` and of an input that it is wrong is unsure, unless it corrects the program.

    Raises:
        ReplyError: there is neither a verdict nor a program in it.
    """
    text = without_thinking(encodable(text))
    code = _program(text)
    said = _from_json(text, ids) or _from_lines(_prose(text), ids)
    ruling = _overall(said.ruling, said.opinions, corrected=code is not None)
    if ruling is None:
        raise ReplyError("there is no line with the verdict: right, wrong or unsure.")
    reason = said.reason or next((item.reason for item in said.opinions if item.ruling == ruling and item.reason), "")
    return Ruled(Judgement(ruling, reason, said.opinions), code if ruling == "wrong" else None)


@dataclass(frozen=True, slots=True)
class _Said:
    ruling: Ruling | None
    reason: str
    opinions: tuple[Opinion, ...]


def _overall(ruling: Ruling | None, opinions: Sequence[Opinion], *, corrected: bool) -> Ruling | None:
    rulings = {item.ruling for item in opinions}
    if ruling == "right" and "wrong" in rulings:
        return "wrong" if corrected else "unsure"
    if ruling is None and rulings:
        return "wrong" if "wrong" in rulings else "unsure" if "unsure" in rulings else "right"
    return "wrong" if ruling is None and corrected else ruling


def _program(text: str) -> str | None:
    """The longest of the Python blocks, for a shorter one quotes a part."""
    found = [block for block in blocks(text) if block.body.strip()]
    marked = [block for block in found if block.language in _PYTHON] or [item for item in found if not item.language]
    if not marked:
        return None
    try:
        return parse_code(f"```python\n{max(marked, key=lambda block: len(block.body)).body}\n```")
    except ReplyError:
        return None


def _prose(text: str) -> str:
    """The text without what is fenced."""
    for _, block in fenced(text):
        text = text.replace(block.body, "\n")
    return text


def _from_lines(text: str, ids: Sequence[str]) -> _Said:
    ruling, reason, opinions = None, "", dict[str, Opinion]()
    below: str | None = None
    for line in map(plain, text.splitlines()):
        one, whole, bare = _ONE.match(line), _ALONE.match(line) or _LABELLED.match(line), _BARE.match(line)
        if one and (id_ := _known(one["id"], ids)):
            opinions[id_] = Opinion(id_, _ruling(one["word"]), one["reason"][:_MOST_REASON])
        elif bare and below:
            opinions[below] = Opinion(below, _ruling(bare["word"]), bare["reason"][:_MOST_REASON])
        elif whole:
            ruling = _ruling(whole["word"])
            reason = (whole.groupdict().get("reason") or "")[:_MOST_REASON]
        below = None if one else _heading(line, ids, below)
    return _Said(ruling, reason, tuple(opinions.values()))


def _heading(line: str, ids: Sequence[str], below: str | None) -> str | None:
    """The input that what follows is about, if the line is a heading that names one; another heading ends that."""
    found = _HEADING.match(line)
    if found and (found["sign"] or not re.search(r"\w", found["rest"])):
        return _known(found["id"], ids)
    return None if line.startswith("#") or re.fullmatch(rf"\W*{_LABEL}\W*", line, re.I) else below


def _from_json(text: str, ids: Sequence[str]) -> _Said | None:
    """The same as JSON, which some models give whatever they are asked for."""
    found = next((value for value in values(text) if isinstance(value, dict) and "verdict" in value), None)
    if found is None:
        return None
    items = found.get("tests") or found.get("inputs") or []
    said = [_opinion(item, ids) for item in items] if isinstance(items, list) else []
    word = re.search(_ANY, str(found["verdict"]), re.I)
    opinions = tuple(item for item in said if item)
    return _Said(_ruling(word.group()) if word else None, str(found.get("reason") or "")[:_MOST_REASON], opinions)


def _opinion(item: JsonValue, ids: Sequence[str]) -> Opinion | None:
    if not isinstance(item, dict):
        return None
    id_ = _known(str(item.get("test") or item.get("input") or item.get("id")), ids)
    word = re.search(_ANY, str(item.get("verdict")), re.I)
    return Opinion(id_, _ruling(word.group()), str(item.get("reason") or "")[:_MOST_REASON]) if id_ and word else None


def _known(id_: str, ids: Sequence[str]) -> str | None:
    """The id that is meant: `2` and `T2` are `t2`."""
    meant = f"t{id_.lower().lstrip('t')}"
    return meant if meant in ids else None


def _ruling(word: str) -> Ruling:
    """The first that fits; `not right` is wrong."""
    return next(ruling for ruling, forms in _WORDS.items() if re.fullmatch(forms, word, re.I))
