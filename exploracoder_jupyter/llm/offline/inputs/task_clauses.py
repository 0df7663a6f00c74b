"""The clauses of a task: the offline model's plan.

A task is split at sentence ends, semicolons and line ends, at `then`, and at `and` before a verb in the imperative; a
clause that only introduces data ("Given the edges ...") joins the next one, and one that only stores, or says what is
to become of each group, joins the one before. Literals are never split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from exploracoder_jupyter.llm.offline.inputs.task_values import masked
from exploracoder_jupyter.llm.offline.inputs.word_matching import content, stem

_VERBS = (
    "add|apply|assemble|average|bin|build|calculate|cast|check|choose|clean|cluster|collect|combine|compare|compute|concatenate|"
    "construct|convert|count|create|decode|define|delete|determine|differentiate|divide|draw|encode|escape|estimate|evaluate|"
    "expand|extract|factor|fill|filter|find|fit|flatten|format|generate|get|give|group|insert|integrate|invert|iterate|join|"
    "list|load|look|make|map|measure|merge|minimi[sz]e|normali[sz]e|obtain|open|order|parse|pick|plot|predict|print|produce|"
    "query|read|remove|rename|render|replace|report|retrieve|reverse|rotate|round|sample|save|scale|score|search|select|"
    "serialise|serialize|set|shift|simplify|slice|solve|sort|split|store|subtract|sum|take|tokenize|train|transform|"
    "translate|transpose|truncate|update|use|validate|wrap|write"
)
_BORDER = re.compile(
    rf"(?:[.!?](?=\s+[A-Z`]|\s*$)|;|\n+|,?\s+(?:and\s+)?then\b|,?\s+and(?=\s+(?:{_VERBS})\b)|,(?=\s+(?:{_VERBS})\b))",
    re.IGNORECASE,
)
_DATA_ONLY = re.compile(
    r"^\s*(?:given|with|for|from|using|let|suppose|consider|take|there (?:is|are)|here)\b", re.IGNORECASE
)
_STORE_ONLY = re.compile(r"^\s*(?:and\s+)?(?:store|save|assign|put|keep|call|name|return)\b", re.IGNORECASE)
_GROUPS = re.compile(r"\bgroup\b.*\bby\b", re.IGNORECASE | re.DOTALL)
_OF_EACH = re.compile(r"^\s*(?:and\s+)?(?:average|calculate|compute|count|find|get|report|sum|take)\b", re.IGNORECASE)
_FORM_WORDS = "items elements list lists plain tuple set dict dictionary string text number sorted python as"
_FORM = frozenset(stem(word) for word in _FORM_WORDS.split())
"""Words of a storing clause that speak of the result's form only."""
_IMPERATIVE = re.compile(rf"\b(?:{_VERBS})\b", re.IGNORECASE)


def clauses(text: str, *, most: int) -> tuple[str, ...]:
    """The task's clauses in order, at least one, at most `most`; each keeps the data and names that stand in it."""
    pieces = _split(text)
    joined = _join(pieces)
    while len(joined) > max(1, most):
        joined[-2:] = [f"{joined[-2]} and {joined[-1]}"]
    return tuple(joined) or (text.strip(),)


def _split(text: str) -> list[str]:
    shadow = _shadow(text)
    pieces, start = [], 0
    for match in _BORDER.finditer(shadow):
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    return [piece.strip(" \t\n,") for piece in pieces if piece.strip(" \t\n,.;")]


def _shadow(text: str) -> str:
    """The text with literals and code replaced by letters of the same length, so that nothing splits inside."""
    shadow = re.sub(r"`[^`\n]+`", lambda match: "`" + "x" * (len(match.group()) - 2) + "`", text)
    blank = masked(text)
    return "".join("x" if b == " " and s != " " and s not in "`" else s for s, b in zip(shadow, blank, strict=True))


def _join(pieces: Sequence[str]) -> list[str]:
    joined: list[str] = []
    held = ""
    for piece in pieces:
        whole = f"{held}, {piece}" if held else piece
        held = ""
        if not joined and _only_data(whole):
            held = whole
        elif joined and (_only_stores(piece) or (_GROUPS.search(joined[-1]) and _OF_EACH.match(piece))):
            joined[-1] = f"{joined[-1]} and {piece}"
        else:
            joined.append(whole)
    if held:
        joined.append(held)
    return joined


def _only_data(piece: str) -> bool:
    return bool(_DATA_ONLY.match(piece)) and not _IMPERATIVE.search(masked(piece))


def _only_stores(piece: str) -> bool:
    """Whether a clause names a place for what the clause before made, and nothing else worth a call."""
    if not _STORE_ONLY.match(piece):
        return False
    words = [word for word in content(masked(piece)) if word not in _FORM]
    return len(words) <= 1 or bool(
        re.match(r"^\s*(?:and\s+)?\w+\s+(?:it|them|that|the result)\b", piece, re.IGNORECASE) and len(words) <= 3
    )
