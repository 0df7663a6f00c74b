"""Parses the reply to `judge`: a verdict word on its own line, a line for each input, and perhaps a corrected program.

If a reply is ambiguous, the reading that trusts the program less is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.types import Judgement, Opinion, Ruling
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.reply_fragments import json_values, strip_markdown
from exploracoder_jupyter.pipeline.prompting.reply_parsing import (
    encodable,
    parse_code,
    raise_unreadable,
)
from exploracoder_jupyter.text.fenced_blocks import blocks, without_fenced_blocks
from exploracoder_jupyter.text.markup_escaping import fenced
from exploracoder_jupyter.text.thinking_removal import without_thinking

_WORDS: dict[Ruling, str] = {
    "wrong": r"wrong|incorrect|not (?:right|correct)|fail(?:s|ed)?",
    "unsure": r"unsure|uncertain|unclear|unknown|not sure|cannot (?:tell|say)",
    "right": r"right|correct|pass(?:es|ed)?",
}
_ANY = "|".join(_WORDS.values())
_LABEL = r"(?:(?:overall|final|my)\s+)?(?:verdict|judge?ment|conclusion|answer|overall)"
_WORD_AND_REST = rf"(?P<word>{_ANY})\b(?P<rest>.*)$"
_ALONE = re.compile(rf"^\W*(?:{_LABEL}\W+(?:is\W+)?)?(?P<word>{_ANY})(?P<rest>[^\w:]*)$", re.I)
"""No colon may follow, since that introduces something: `Correct:` above a program."""
_LABELLED = re.compile(rf"^\W*{_LABEL}\W+(?:is\W+)?{_WORD_AND_REST}", re.I)
_ONE = re.compile(rf"^\W*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b[^:=|—–-]*[:=|—–-]+\W*{_WORD_AND_REST}", re.I)
_BARE = re.compile(rf"^\W*{_WORD_AND_REST}", re.I | re.S)
_ENDED = re.compile(r"\W*$|[*_)\]\"']*(?:\s*[.:;,|!—–]|\s+[-(]|-\s|\s+(?:because|since|as)\b)")
"""What may follow the word `right` if it is the verdict; `correct output would be 3` is none."""
_DOUBT = re.compile(
    r"\b(?:except|only if|unless|as long as|provided|assuming|but|however|although|though|would|(?<!as it )should)\b"
    r"|\b(?:wrong|incorrect)\b"
    r"|^\W*not\b|\bnot (?:quite|entirely|exactly|fully|completely|really|right|correct|sure|as|what|for|in|when|if)\b",
    re.I,
)
_HEADING = re.compile(r"^(?P<sign>#*)\s*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b(?P<rest>.*)$", re.I)
_TWO_WAYS = "the whole is judged right, but not every input"
_PYTHON = ("python", "py", "python3", "ipython")
_MOST_REASON = 400
_Parsed = tuple[list[tuple[Ruling, str]], tuple[Opinion, ...]]


@heuristic("reading a reply", raise_unreadable)
def parse_judgement(text: str, ids: Sequence[str]) -> tuple[Judgement, str | None]:
    """Parse a judgement about the inputs with these ids and the corrected program, if any; ReplyError without both.

    A reply that calls the whole `right` but some input not right is unsure, or wrong if it corrects the program.
    """
    text = without_thinking(encodable(text))
    code = _program(text)
    verdicts, opinions = _parse_json(text, ids) or _parse_lines(without_fenced_blocks(text), ids)
    rulings = {item.ruling for item in opinions}
    given = {ruling for ruling, _ in verdicts}
    reason = next((reason for _, reason in reversed(verdicts) if reason), "")
    if len(given) > 1:
        ruling: Ruling = "unsure"
        reason = "different verdicts are given"
    elif given == {"right"} and rulings - given:
        ruling = "wrong" if code is not None and "wrong" in rulings else "unsure"
        reason = _TWO_WAYS if ruling == "unsure" else ""
    elif given or rulings:
        ruling = _worst(given or rulings)
    elif code is not None:
        ruling = "wrong"
    else:
        raise ReplyError("there is no line with the verdict: right, wrong or unsure.")
    reason = reason or next((item.reason for item in opinions if item.ruling == ruling and item.reason), "")
    return Judgement(ruling, reason, opinions), code if ruling == "wrong" else None


def _program(text: str) -> str | None:
    """Return the longest Python block, since a shorter one quotes a part. A lone verdict word is not a program."""
    found = [block for block in blocks(text) if block.body.strip() and not _ALONE.match(block.body.strip())]
    marked = [block for block in found if block.language in _PYTHON] or [item for item in found if not item.language]
    if not marked:
        return None
    try:
        return parse_code(fenced(max(marked, key=lambda block: len(block.body)).body, "python"))
    except ReplyError:
        return None


def _parse_lines(text: str, ids: Sequence[str]) -> _Parsed:
    """Return the verdicts on the whole, with their reasons, and one opinion per input."""
    verdicts, opinions = list[tuple[Ruling, str]](), list[Opinion]()
    below: str | None = None
    for line in map(strip_markdown, text.splitlines()):
        one, whole, bare = _ONE.match(line), _ALONE.match(line) or _LABELLED.match(line), _BARE.match(line)
        id_ = _match_id(one["id"], ids) if one else None
        if one and id_:
            opinions.append(Opinion(id_, *_ruling_and_reason(one)))
        elif bare and below:
            opinions.append(Opinion(below, *_ruling_and_reason(bare)))
        elif whole:
            verdicts.append(_ruling_and_reason(whole))
        elif bare and not re.fullmatch(_WORDS["right"], bare["word"], re.I) and _ENDED.match(bare["rest"]):
            verdicts.append(_ruling_and_reason(bare))
        below = None if one or (bare and below) else _heading(line, ids, below)
    return verdicts, _worst_of_each(opinions)


def _parse_json(text: str, ids: Sequence[str]) -> _Parsed | None:
    """Return the same from JSON, which some models write whatever the requested form; `None` if it holds no verdict."""
    whole = next((value for value in json_values(text) if isinstance(value, dict) and "verdict" in value), None)
    if whole is None:
        return None
    tests = whole.get("tests") or whole.get("inputs") or []
    if isinstance(tests, dict):  # keyed by the ids of the inputs
        tests = [{"test": id_, **(one if isinstance(one, dict) else {"verdict": one})} for id_, one in tests.items()]
    opinions = []
    for one in tests if isinstance(tests, list) else []:
        if isinstance(one, dict) and (id_ := _match_id(str(one.get("test") or one.get("input") or one.get("id")), ids)):
            opinions += [Opinion(id_, *verdict) for verdict in _json_verdict(one)]
    return _json_verdict(whole), _worst_of_each(opinions)


def _json_verdict(given: Mapping[str, JsonValue]) -> list[tuple[Ruling, str]]:
    """Return the verdict and its reason; unsure if it is not a verdict word, none if there is none."""
    found = _BARE.match(str(given.get("verdict") or ""))
    ruling, reason = _ruling_and_reason(found) if found else ("unsure", "")
    return [(ruling, str(given.get("reason") or reason)[:_MOST_REASON])] if given.get("verdict") else []


def _worst_of_each(opinions: Iterable[Opinion]) -> tuple[Opinion, ...]:
    """Return one opinion per input: the worst of several."""
    found = dict[str, Opinion]()
    for item in opinions:
        known = found.get(item.input)
        if known is None or _worst((known.ruling, item.ruling)) != known.ruling:
            found[item.input] = item
    return tuple(found.values())


def _ruling_and_reason(found: re.Match[str]) -> tuple[Ruling, str]:
    """Return the verdict and the reason; `right` with an exception or a condition becomes unsure."""
    rest: str = found["rest"]
    ruling = next(ruling for ruling, forms in _WORDS.items() if re.fullmatch(forms, found["word"], re.I))
    if ruling == "right" and not (_ENDED.match(rest) and not _DOUBT.search(rest)):
        ruling = "unsure"
    return ruling, rest.lstrip(" .:;,*|—–-").rstrip(" |")[:_MOST_REASON]


def _worst(rulings: Iterable[Ruling]) -> Ruling:
    return min(rulings, key=list(_WORDS).index)


def _heading(line: str, ids: Sequence[str], below: str | None) -> str | None:
    """Return the input that the following lines are about; a heading that names none ends the section."""
    found = _HEADING.match(line)
    if found and (found["sign"] or not re.search(r"\w", found["rest"])):
        return _match_id(found["id"], ids)
    return None if line.startswith("#") or re.fullmatch(rf"\W*{_LABEL}\W*", line, re.I) else below


def _match_id(id_: str, ids: Sequence[str]) -> str | None:
    """Return the matching id: `2` and `T2` mean `t2`."""
    meant = f"t{id_.lower().lstrip('t')}"
    return meant if meant in ids else None
