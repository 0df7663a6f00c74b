"""Splits a task into clauses: the offline model's plan.

A task is split at sentence ends, semicolons and line ends, at `then`, and at `and` before a verb in the imperative. A
clause that only introduces data ("Given the edges ...") is joined with the next one; one that only stores a result, or
specifies an aggregate for each group, with the one before. Literals are never split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from exploracoder_jupyter.llm.offline.inputs.task_values import find_values, mask_literals
from exploracoder_jupyter.llm.offline.inputs.word_matching import content_stems
from exploracoder_jupyter.text.tokenizer import stem

_VERBS = (
    "add|apply|assemble|average|bin|build|calculate|cast|check|choose|clean|cluster|collect|combine|compare|compute|concatenate|"
    "construct|convert|count|create|decode|define|delete|determine|differentiate|divide|draw|encode|escape|estimate|evaluate|"
    "expand|extract|factor|fill|filter|find|fit|flatten|format|generate|get|give|group|insert|integrate|invert|iterate|join|"
    "list|load|look|make|map|measure|merge|minimi[sz]e|normali[sz]e|obtain|open|order|parse|pick|plot|predict|print|produce|"
    "query|read|remove|rename|render|replace|report|retrieve|reverse|rotate|round|sample|save|scale|score|search|select|"
    "serialise|serialize|set|shift|simplify|slice|solve|sort|split|store|subtract|sum|take|tokenize|train|transform|"
    "translate|transpose|truncate|update|use|validate|wrap|write"
)
_BOUNDARY = re.compile(
    rf"(?:[.!?](?=\s+[A-Z`]|\s*$)|;|,?\s+(?:and\s+)?then\b|,?\s+and(?=\s+(?:{_VERBS})\b)|,(?=\s+(?:{_VERBS})\b)|\n+)",
    re.IGNORECASE,
)
_DATA_ONLY = re.compile(
    r"^\s*(?:given|with|for|from|using|let|suppose|consider|take|there (?:is|are)|here)\b", re.IGNORECASE
)
_STORE_ONLY = re.compile(r"^\s*(?:and\s+)?(?:store|save|assign|put|keep|call|name|return)\b", re.IGNORECASE)
_GROUPING = re.compile(r"\bgroup\b.*\bby\b", re.IGNORECASE | re.DOTALL)
_PER_GROUP = re.compile(r"^\s*(?:and\s+)?(?:average|calculate|compute|count|find|get|report|sum|take)\b", re.IGNORECASE)
_FORMAT_WORDS = "items elements list lists plain tuple set dict dictionary string text number sorted python as"
FORMAT_STEMS = frozenset(stem(word) for word in _FORMAT_WORDS.split())
"""Words of a storing clause that describe only the format of the result."""
_IMPERATIVE = re.compile(rf"\b(?:{_VERBS})\b", re.IGNORECASE)


def split_clauses(text: str, *, limit: int) -> tuple[str, ...]:
    """Return the task's clauses in order, between one and `limit`; each keeps its own data and names."""
    bounds = [match.span() for match in _BOUNDARY.finditer(_mask_code(text))]
    starts, ends = [0, *(end for _, end in bounds)], [*(start for start, _ in bounds), len(text)]
    pieces = [text[start:end].strip(" \t\n,") for start, end in zip(starts, ends, strict=True)]
    joined = _join_pieces([piece for piece in pieces if piece.strip(".;")])
    while len(joined) > max(1, limit):
        joined[-2:] = [f"{joined[-2]} and {joined[-1]}"]
    return tuple(joined) or (text.strip(),)


def _mask_code(text: str) -> str:
    """Replace literals and code by letters of the same length, so that nothing inside them is split."""
    without_code = re.sub(r"`[^`\n]+`", lambda match: "`" + "x" * (len(match.group()) - 2) + "`", text)
    without_literals = mask_literals(text)
    return "".join(
        "x" if masked_char == " " and char != " " and char not in "`" else char
        for char, masked_char in zip(without_code, without_literals, strict=True)
    )


def _join_pieces(pieces: Sequence[str]) -> list[str]:
    joined: list[str] = []
    introduction = ""
    for piece in pieces:
        clause = f"{introduction}, {piece}" if introduction else piece
        introduction = ""
        only_introduces_data = _DATA_ONLY.match(clause) and not _IMPERATIVE.search(mask_literals(clause))
        if not joined and only_introduces_data:
            introduction = clause
        elif joined and (_only_stores_result(piece) or (_GROUPING.search(joined[-1]) and _PER_GROUP.match(piece))):
            joined[-1] = f"{joined[-1]} and {piece}"
        else:
            joined.append(clause)
    if introduction:
        joined.append(introduction)
    return joined


def _only_stores_result(piece: str) -> bool:
    """Return whether a clause only names a variable for the previous clause's result, and needs no call of its own."""
    if not _STORE_ONLY.match(piece) or find_values(piece):
        return False
    words = [word for word in content_stems(mask_literals(piece)) if word not in FORMAT_STEMS]
    return len(words) <= 1 or bool(
        re.match(r"^\s*(?:and\s+)?\w+\s+(?:it|them|that|the result)\b", piece, re.IGNORECASE) and len(words) <= 3
    )
