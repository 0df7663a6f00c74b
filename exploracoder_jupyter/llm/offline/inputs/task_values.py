"""The data in a task's text: Python literals, what they are called, and the words around them that tell their role.

`[1, 2, 3]`, `('a', 'b', 4), ('b', 'c', 1)` (a sequence, read as a list), `X = [[1], [2]]`, `chunks of 3`,
`from 'a' to 'c'`, `2 decimal places`. A value is found in the text only; the check of a task is never read for data.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP, stem

_OPENING = {"[": "]", "(": ")", "{": "}"}
_STRING = re.compile(r"""(?<![\w])([rb]?)('(?:[^'\\\n]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*")""")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d_]*\.\d+|\d[\d_]*)(?:[eE][+-]?\d+)?(?![\w]|\.\d)")
_TICKED = re.compile(r"`([^`\n]+)`")
_NAME_IN_TICKS = re.compile(r"`[A-Za-z_][\w.]*`")
_FUNCTION = re.compile(r"lambda\b[^:]*:")
_GIVEN = re.compile(r"([A-Za-z_]\w*)\s*=\s*$")
_SYMBOL = re.compile(r"\b(?:respect to|for|in|of|variable) `?([b-zB-HJ-Z])\b`?(?! ?=)")
_PAIRS = re.compile(r"\b(?:edges?|links?|arcs?|pairs?) ((?:\w+-\w+)(?:(?:, ?(?:and )?| and )\w+-\w+)+)(?![\w-])")
_BETWEEN = re.compile(r"\s*(?:,|,?\s*and|,?\s*or)\s*\Z")
_BEFORE = re.compile(r"[A-Za-z_]+")
_TARGET = re.compile(
    r"\b(?:store[sd]?|sav(?:e|ed)|assign(?:ed)?|put|keep|in|into|as|to|call(?:ed)?|named?|variable|define|function)\b[^`.;]*\Z",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Value:
    """Something that a call can be given: a literal of the task or a variable of the state."""

    id: int
    """Position in the task; variables have negative ids."""
    code: str
    """The Python expression for it."""
    shape: str
    """`int`, `str`, `list[tuple[str,str,int]]`, ...; for a variable the type as observed, e.g. `networkx.Graph`."""
    roles: tuple[str, ...] = ()
    """Stems of the words around it, nearest first."""
    given: str = ""
    """The name the task gives it, as in `X = [[1], [2]]`."""
    unit: str = ""
    """The word after a number, as in `3 days`."""
    members: frozenset[int] = frozenset()
    """Ids of the values that this one is made of."""
    start: int = -1
    end: int = -1

    @property
    def covers(self) -> frozenset[int]:
        """The ids that are used when this one is."""
        return self.members | {self.id}


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    code: str


_BEHIND = 200
"""Characters before a value that are searched for its name."""
_DEEPEST = 50
"""Brackets in brackets that a literal may have; looking for the end of deeper ones would take quadratic time."""


def values_in(text: str) -> tuple[Value, ...]:
    """The values of a text in order; a sequence of like literals is a value of its own beside its members."""
    found = [item for item in _literals(text) if _evaluates(item.code) or not item.code.strip("+-").isdigit()]
    found = sorted([*found, *_symbols(text, found)], key=lambda item: item.start)
    singles = [_value(number, item, text) for number, item in enumerate(found)]
    groups = _groups(singles, text, first=len(singles))
    return (*singles, *groups)


def _symbols(text: str, found: Sequence[_Found]) -> list[_Found]:
    """Single letters that name a variable of an expression, as in `with respect to x`, as text."""
    if not any(item.code[0] in "'\"" for item in found):
        return []
    return [
        _Found(match.start(1), match.end(1), repr(match.group(1)))
        for match in _SYMBOL.finditer(text)
        if match.group(1) not in targets_in(text)
    ]


def targets_in(text: str) -> tuple[str, ...]:
    """Names in backticks that the task wants results stored in, in order."""
    names = []
    for match in _TICKED.finditer(text):
        if match.group(1).isidentifier() and _TARGET.search(text[max(0, match.start() - 60) : match.start()]):
            names.append(match.group(1))
    if not names:
        names = re.findall(r"\b(?:in|as|into|called|named|variable)\s+([a-z_]\w*)\s*(?:[.;,]|$)", text)[-1:]
        names = [name for name in names if name not in STOP and "store" in text.lower()]
    return tuple(dict.fromkeys(names))


def masked(text: str) -> str:
    """The text with its literals and target names blanked out, same length: what is left are words."""
    chars = list(text)
    for item in _literals(text):
        chars[item.start : item.end] = " " * (item.end - item.start)
    for match in _TICKED.finditer(text):
        if match.group(1) in targets_in(text):
            chars[match.start() : match.end()] = " " * (match.end() - match.start())
    return "".join(chars)


def shape_of(value: object) -> str:
    """The shape of a Python value, elements unified."""
    if isinstance(value, tuple):
        return f"tuple[{','.join(shape_of(item) for item in value)}]"
    if isinstance(value, dict):
        return f"dict[{_unified(list(value))},{_unified(list(value.values()))}]"
    if isinstance(value, (list, set, frozenset)):
        return f"{type(value).__name__}[{_unified(list(value))}]"
    return "None" if value is None else type(value).__name__


def _unified(items: Sequence[object]) -> str:
    shapes = list(dict.fromkeys(shape_of(item) for item in items))
    if len(shapes) == 1:
        return shapes[0]
    return "float" if set(shapes) <= {"int", "float"} and shapes else "any"


def _literals(text: str) -> list[_Found]:
    found: list[_Found] = []
    position = 0
    pairs = _pairs(text)
    while position < len(text):
        item = pairs.get(position) or _literal_at(text, position)
        if item is not None:
            found.append(item)
            position = item.end
        else:
            name = _NAME_IN_TICKS.match(text, position)
            position = name.end() if name else position + 1
    return found


def _pairs(text: str) -> dict[int, _Found]:
    """Pairs as people write them, by their position: `edges a-b, b-d`; one alone may be a word with a hyphen."""
    found = {}
    for run in _PAIRS.finditer(text):
        for pair in re.finditer(r"(\w+)-(\w+)", run.group(1)):
            start, end = run.start(1) + pair.start(), run.start(1) + pair.end()
            ends = [part if part.isdecimal() else repr(part) for part in pair.groups()]
            found[start] = _Found(start, end, f"({', '.join(ends)})")
    return found


def _literal_at(text: str, position: int) -> _Found | None:
    char = text[position]
    if char in _OPENING:
        end = _balanced(text, position)
        return _Found(position, end, text[position:end]) if end and _is_data(text[position:end]) else None
    if char == "`":
        return _ticked_at(text, position)
    match = _STRING.match(text, position) or _NUMBER.match(text, position)
    if not match or (position and (text[position - 1].isalnum() or text[position - 1] == "_")):
        return None
    return _Found(match.start(), match.end(), match.group())


def _ticked_at(text: str, position: int) -> _Found | None:
    """Code in backticks that is no name: a literal, or an expression which is data as text, such as `x**2 - 4`."""
    match = _TICKED.match(text, position)
    if not match or match.group(1).replace(".", "_").isidentifier():
        return None
    inner = match.group(1)
    given, _, right = inner.partition("=")
    if given.strip().isidentifier() and _evaluates(right.strip()):
        return None
    if re.match(r"[A-Za-z_][\w.]*\(.*\)\Z", inner):
        return None
    return _Found(match.start(), match.end(), inner if _evaluates(inner) or _FUNCTION.match(inner) else repr(inner))


def _balanced(text: str, start: int) -> int | None:
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
            if len(stack) > _DEEPEST:
                return None
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return index + 1
    return None


def _is_data(code: str) -> bool:
    """Whether it is a literal, and not words in brackets or one number in parentheses."""
    if not _evaluates(code):
        return False
    return not code.startswith("(") or "," in code


def _evaluates(code: str) -> bool:
    try:
        ast.literal_eval(code)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def evaluate(code: str) -> object:
    """The value of a literal; the code itself when it is none."""
    return ast.literal_eval(code) if _evaluates(code) else code


def _value(number: int, item: _Found, text: str) -> Value:
    before = text[max(0, item.start - _BEHIND) : item.start].rstrip("` ")
    given = _GIVEN.search(before)
    shape = "callable" if _FUNCTION.match(item.code) else shape_of(evaluate(item.code))
    roles = _roles(text, item)
    return Value(
        number,
        item.code,
        shape,
        roles,
        given.group(1) if given else "",
        _unit(text, item, shape),
        frozenset(),
        item.start,
        item.end,
    )


def _unit(text: str, item: _Found, shape: str) -> str:
    following = re.match(r"\s+([a-z]+)\b", text[item.end :]) if shape in ("int", "float") else None
    word = following.group(1) if following else ""
    return "" if word in STOP or word in _PREPOSITIONS else word


def _roles(text: str, item: _Found) -> tuple[str, ...]:
    """Stems of up to three words before (in the same clause) and the two after a number."""
    before = re.split(r"[.;:,]\s|[\[\](){}'\"]", text[max(0, item.start - 60) : item.start])[-1]
    left = [word.lower() for word in _BEFORE.findall(before)][-4:][::-1]
    after = re.split(r"[.;:,'\"\[(]", text[item.end : item.end + 40])[0]
    right = [word.lower() for word in _BEFORE.findall(after)][:2] if item.code[0] not in "[({" else []
    if right and right[0] in _PREPOSITIONS | {"and", "then", "in", "as"}:
        right = []
    words = [*left[:1], *right[:1], *left[1:], *right[1:]]
    return tuple(dict.fromkeys(stem(word) for word in words if word in _PREPOSITIONS or word not in STOP))


_PREPOSITIONS = frozenset({"from", "to", "by", "with", "into", "at", "of", "on", "between", "for"})


def _groups(singles: Sequence[Value], text: str, *, first: int) -> list[Value]:
    groups: list[Value] = []
    run: list[Value] = []
    for value in [*singles, None]:
        if value and run and _BETWEEN.match(text[run[-1].end : value.start]) and _alike(run[-1], value):
            run.append(value)
            continue
        if len(run) >= 2 and not _two_of_a_kind(run, text):
            groups.append(_group(first + len(groups), run))
        run = [value] if value else []
    return groups


def _two_of_a_kind(run: Sequence[Value], text: str) -> bool:
    """Whether a run is two containers joined by `and`: two arguments rather than one."""
    between = text[run[0].end : run[1].start].strip(" ,") if len(run) == 2 else ""
    return between == "and" and run[0].shape.startswith(("list", "dict", "set"))


def _alike(one: Value, other: Value) -> bool:
    if one.given or other.given:
        return False
    return (
        one.shape == other.shape
        or {one.shape, other.shape} <= {"int", "float"}
        or (one.shape.startswith("tuple") and other.shape.startswith("tuple"))
    )


def _group(number: int, run: Sequence[Value]) -> Value:
    code = f"[{', '.join(value.code for value in run)}]"
    members = frozenset(value.id for value in run)
    return Value(number, code, shape_of(evaluate(code)), run[0].roles, "", "", members, run[0].start, run[-1].end)
