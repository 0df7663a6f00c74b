"""What a task states for the offline model: its values and its clauses."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from exploracoder_jupyter.llm.offline.words import STOP_WORDS, content_stems
from exploracoder_jupyter.text.tokenizer import stem

# Finds the data in a task's text: Python literals, their names, and the words around them that indicate their role.
#
# Examples: `[1, 2, 3]`, `('a', 'b', 4), ('b', 'c', 1)` (a sequence, read as a list), `X = [[1], [2]]`, `chunks of
# 3`, `from 'a' to 'c'`, `2 decimal places`. Values come only from the text; the check of a task is never read for
# data.

_OPENING = {"[": "]", "(": ")", "{": "}"}
_STRING = re.compile(r"""(?<![\w])([rb]?)('(?:[^'\\\n]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*")""")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d_]*\.\d+|\d[\d_]*)(?:[eE][+-]?\d+)?(?![\w]|\.\d)")
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_BACKTICKED_NAME = re.compile(r"`[A-Za-z_][\w.]*`")
_LAMBDA = re.compile(r"lambda\b[^:]*:")
_ASSIGNED_NAME = re.compile(r"([A-Za-z_]\w*)\s*=\s*$")
_SYMBOL = re.compile(r"\b(?:respect to|for|in|of|variable) `?([b-zB-HJ-Z])\b`?(?! ?=)")
_TERM = r"(?:\w+\([^()\n]*\)|\([^()\n]*\)|[A-Za-z]\w*|\d+(?:\.\d+)?)"
_FORMULA = re.compile(rf"(?<![\w'\"`.]){_TERM}(?:\s*(?:\*\*|[-+*/^=])\s*{_TERM})+(?![\w'\"`])")
_SEPARATOR = re.compile(r"\s*(?:,|,?\s*and|,?\s*or)\s*\Z")
_WORD = re.compile(r"[A-Za-z_]+")
_TARGET = re.compile(
    r"\b(?:store[sd]?|sav(?:e|ed)|assign(?:ed)?|put|keep|in|into|as|to|call(?:ed)?|named?|variable|define|function)\b[^`.;]*\Z",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value that can be passed to a call: a literal of the task or a variable of the state."""

    id: int
    """Position in the task; variables have negative ids."""
    code: str
    shape: str
    """`int`, `str`, `list[tuple[str,str,int]]`, ...; for a variable the observed type, such as `networkx.Graph`."""
    roles: tuple[str, ...] = ()
    """Stems of the words around it, nearest first."""
    name: str = ""
    members: frozenset[int] = frozenset()
    """Ids of the values that this one consists of."""
    start: int = -1
    end: int = -1

    @property
    def covered_ids(self) -> frozenset[int]:
        """The ids of all values that are used if this one is."""
        return self.members | {self.id}


@dataclass(frozen=True, slots=True)
class _Literal:
    start: int
    end: int
    code: str


_NAME_SEARCH_LENGTH = 200
_MAX_DEPTH = 50
"""Maximum nesting of brackets in a literal; finding the end of deeper ones would take quadratic time."""
_CACHED_TEXTS = 32
"""Texts whose values are remembered; every step of a run reads the same task and subtasks again."""


@lru_cache(maxsize=_CACHED_TEXTS)
def find_values(text: str) -> tuple[Value, ...]:
    """Return the values of a text in order; a sequence of similar literals is a value besides its members."""
    found = [item for item in _find_literals(text) if _is_literal(item.code) or not item.code.strip("+-").isdigit()]
    found = sorted([*found, *_find_symbols(text, found)], key=lambda item: item.start)
    singles = [_make_value(number, item, text) for number, item in enumerate(found)]
    groups = _group_values(singles, text, first=len(singles))
    return (*singles, *groups)


def _find_symbols(text: str, found: Sequence[_Literal]) -> list[_Literal]:
    """Find single letters that name a variable of an expression, as in `with respect to x`; they are strings."""
    if not any(item.code[0] in "'\"" for item in found):
        return []
    return [
        _Literal(match.start(1), match.end(1), repr(match.group(1)))
        for match in _SYMBOL.finditer(text)
        if match.group(1) not in find_targets(text)
    ]


@lru_cache(maxsize=_CACHED_TEXTS)
def find_targets(text: str) -> tuple[str, ...]:
    """Return the names in backticks in which the task wants results stored, in order."""
    names = []
    for match in _BACKTICKED.finditer(text):
        if match.group(1).isidentifier() and _TARGET.search(text[max(0, match.start() - 60) : match.start()]):
            names.append(match.group(1))
    if not names:
        names = re.findall(r"\b(?:in|as|into|called|named|variable)\s+([a-z_]\w*)\s*(?:[.;,]|$)", text)[-1:]
        names = [name for name in names if name not in STOP_WORDS and "store" in text.lower()]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=_CACHED_TEXTS)
def mask_literals(text: str) -> str:
    """Blank out literals and target names, keeping the length, so that only words remain."""
    chars = list(text)
    for item in _find_literals(text):
        chars[item.start : item.end] = " " * (item.end - item.start)
    for match in _BACKTICKED.finditer(text):
        if match.group(1) in find_targets(text):
            chars[match.start() : match.end()] = " " * (match.end() - match.start())
    return "".join(chars)


def shape_of(value: object) -> str:
    """Return the shape of a Python value, with the shapes of its elements unified."""
    if isinstance(value, tuple):
        return f"tuple[{','.join(shape_of(item) for item in value)}]"
    if isinstance(value, dict):
        return f"dict[{_element_shape(list(value))},{_element_shape(list(value.values()))}]"
    if isinstance(value, (list, set, frozenset)):
        return f"{type(value).__name__}[{_element_shape(list(value))}]"
    return "None" if value is None else type(value).__name__


def _element_shape(items: Sequence[object]) -> str:
    shapes = list(dict.fromkeys(shape_of(item) for item in items))
    if len(shapes) == 1:
        return shapes[0]
    return "float" if set(shapes) <= {"int", "float"} and shapes else "any"


def _find_literals(text: str) -> list[_Literal]:
    found: list[_Literal] = []
    position = 0
    formulas = _find_formulas(text)
    while position < len(text):
        item = formulas.get(position) or _literal_at(text, position)
        if item is not None:
            found.append(item)
            position = item.end
        else:
            name = _BACKTICKED_NAME.match(text, position)
            position = name.end() if name else position + 1
    return found


def _find_formulas(text: str) -> dict[int, _Literal]:
    """Find formulas of a one-letter variable, by position: `x**2 - 4 = 0` is the text of what equals zero."""
    found = {}
    for match in _FORMULA.finditer(text):
        left, _, right = match.group().partition("=")
        code = left.strip() if right.strip() in ("", "0") else f"{left.strip()} - ({right.strip()})"
        if re.search(r"[*/+^]", code) and re.search(r"\b[a-zA-Z]\b", code):
            found[match.start()] = _Literal(match.start(), match.end(), repr(code))
    return found


def _literal_at(text: str, position: int) -> _Literal | None:
    char = text[position]
    if char in _OPENING:
        end = _find_closing(text, position)
        code = text[position:end] if end else ""
        is_data = _is_literal(code) and (char != "(" or "," in code)  # neither words nor one number in parentheses
        return _Literal(position, end, code) if end and is_data else None
    if char == "`":
        return _backticked_at(text, position)
    match = _STRING.match(text, position) or _NUMBER.match(text, position)
    if not match or (position and (text[position - 1].isalnum() or text[position - 1] == "_")):
        return None
    return _Literal(match.start(), match.end(), match.group())


def _backticked_at(text: str, position: int) -> _Literal | None:
    """Return code in backticks that is not a name: a literal, or an expression used as text, such as `x**2 - 4`."""
    match = _BACKTICKED.match(text, position)
    if not match or match.group(1).replace(".", "_").isidentifier():
        return None
    inner = match.group(1)
    name, _, value = inner.partition("=")
    is_assignment = name.strip().isidentifier() and _is_literal(value.strip())
    if is_assignment or re.match(r"[A-Za-z_][\w.]*\(.*\)\Z", inner):
        return None
    return _Literal(match.start(), match.end(), inner if _is_literal(inner) or _LAMBDA.match(inner) else repr(inner))


def _find_closing(text: str, start: int) -> int | None:
    stack: list[str] = []
    quote = ""
    for index in range(start, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            stack.append(_OPENING[char])
            if len(stack) > _MAX_DEPTH:
                return None
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return index + 1
    return None


def _is_literal(code: str) -> bool:
    return evaluate_literal(code) is not code


def evaluate_literal(code: str) -> object:
    """Return the value of a literal, or the code itself if it is not one."""
    try:
        return ast.literal_eval(code)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return code


def _make_value(number: int, item: _Literal, text: str) -> Value:
    before = text[max(0, item.start - _NAME_SEARCH_LENGTH) : item.start].rstrip("` ")
    assigned = _ASSIGNED_NAME.search(before)
    shape = "callable" if _LAMBDA.match(item.code) else shape_of(evaluate_literal(item.code))
    name = assigned.group(1) if assigned else ""
    return Value(number, item.code, shape, _find_roles(text, item), name, start=item.start, end=item.end)


def _find_roles(text: str, item: _Literal) -> tuple[str, ...]:
    """Return the stems of up to three words before the value (in the same clause) and of two words after a scalar."""
    before = re.split(r"[.;:,]\s|[\[\](){}'\"]", text[max(0, item.start - 60) : item.start])[-1]
    before_words = [word.lower() for word in _WORD.findall(before)][-4:][::-1]
    after = re.split(r"[.;:,'\"\[(]", text[item.end : item.end + 40])[0]
    after_words = [word.lower() for word in _WORD.findall(after)][:2] if item.code[0] not in "[({" else []
    if after_words and after_words[0] in _PREPOSITIONS | {"and", "then", "in", "as"}:
        after_words = []
    words = [*before_words[:1], *after_words[:1], *before_words[1:], *after_words[1:]]
    return tuple(dict.fromkeys(stem(word) for word in words if word in _PREPOSITIONS or word not in STOP_WORDS))


_PREPOSITIONS = frozenset({"from", "to", "by", "with", "into", "at", "of", "on", "between", "for"})


def _group_values(singles: Sequence[Value], text: str, *, first: int) -> list[Value]:
    groups: list[Value] = []
    run: list[Value] = []
    for value in [*singles, None]:
        if value and run and _SEPARATOR.match(text[run[-1].end : value.start]) and _are_similar(run[-1], value):
            run.append(value)
            continue
        if len(run) >= 2 and not _are_two_arguments(run, text):
            code = f"[{', '.join(member.code for member in run)}]"
            members = frozenset(member.id for member in run)
            shape = shape_of(evaluate_literal(code))
            groups.append(Value(first + len(groups), code, shape, run[0].roles, "", members, run[0].start, run[-1].end))
        run = [value] if value else []
    return groups


def _are_two_arguments(run: Sequence[Value], text: str) -> bool:
    """Return whether a run is two containers joined by `and` after no plural: two arguments rather than one."""
    between = text[run[0].end : run[1].start].strip(" ,") if len(run) == 2 else ""
    is_plural = re.search(r"[a-rt-z]s:? \Z", text[: run[0].start]) is not None
    return between == "and" and run[0].shape.startswith(("list", "dict", "set")) and not is_plural


def _are_similar(first: Value, second: Value) -> bool:
    if first.name or second.name:
        return False
    return (
        first.shape == second.shape
        or {first.shape, second.shape} <= {"int", "float"}
        or (first.shape.startswith("tuple") and second.shape.startswith("tuple"))
    )


# Splits a task into clauses: the offline model's plan.
#
# A task is split at sentence ends, semicolons and line ends, at `then`, and at `and` before a verb in the
# imperative. A clause that only introduces data ("Given the edges ...") is joined with the next one; one that only
# stores a result, or specifies an aggregate for each group, with the one before. Literals are never split.

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
