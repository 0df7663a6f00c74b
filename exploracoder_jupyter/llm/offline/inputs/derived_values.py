"""Values that a task states in words or implies: columns of a table or of points, sizes, units and other phrases.

Examples: `the cities 'Oslo' and 'Rome' with the temperatures 3 and 5` is a table with two columns, `20 by 10 pixels` is
a pair, `(0, 1), (1, 3)` are the columns `[0, 1]` and `[1, 3]`, and `60 miles per hour` has the unit `'miles per hour'`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from exploracoder_jupyter.llm.offline.inputs.task_values import Value, evaluate_literal, mask_literals, shape_of
from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP_WORDS
from exploracoder_jupyter.text.tokenizer import stem

_PHRASE_WORD = (
    r"(?!(?:and|or|then|the|a|an|it|its|that|which|with|from|to|into|in|by|of|for|at|on|as|is|are)\b)[A-Za-z]\w*"
)
_PHRASE = rf"{_PHRASE_WORD}(?: {_PHRASE_WORD}){{0,3}}"
_AFTER_PREPOSITION = re.compile(rf"\b(from|to|into|in)(?: the| an?)? ({_PHRASE})")
_AFTER_NUMBER = re.compile(rf" ({_PHRASE})")
_NUMBER_WORD = re.compile(rf"\b(one|two|three|four|five|six|seven|eight|nine|ten) (?=({_PHRASE_WORD}))")
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten".split()  # noqa: SIM905
_BY = re.compile(r"\s*(?:by|x|×)\s*")
_MAX_PHRASES = 8


def derive_values(values: Sequence[Value], text: str) -> tuple[Value, ...]:
    """Return what the values of a text imply, numbered after them."""
    derived = [
        *_tables(values, text),
        *_transposed(values),
        *_sizes(values, text),
        *_phrases(values, text),
        *_counted(text),
    ]
    return tuple(replace(value, id=len(values) + number) for number, value in enumerate(derived))


def _tables(values: Sequence[Value], text: str) -> Iterator[Value]:
    """Yield a dictionary of named sequences of one length, and the names of its columns."""
    columns = [value for value in values if value.noun and value.members and _length(value) >= 2]
    for first in columns:
        table = [first, *(value for value in columns if value.start > first.end and _length(value) == _length(first))]
        if len(table) < 2 or len({value.noun for value in table}) < len(table):
            continue
        code = f"{{{', '.join(f'{value.noun!r}: {value.code}' for value in table)}}}"
        ids = frozenset().union(*(value.covered_ids for value in table))
        yield Value(0, code, shape_of(evaluate_literal(code)), ("data",), "", "", ids, first.start, table[-1].end)
        for value in table:
            yield _hint(repr(value.noun), _column_roles(value.noun, text), value.start)
        return


def _length(value: Value) -> int:
    items = evaluate_literal(value.code) if value.shape.startswith("list[") else None
    is_flat = isinstance(items, list) and not any(isinstance(item, (list, tuple, dict)) for item in items)
    return len(items) if isinstance(items, list) and is_flat else 0


def _column_roles(noun: str, text: str) -> tuple[str, ...]:
    """Return the roles of a column: `by` if the text groups or sorts by it."""
    singular = re.escape(stem(noun)[:-1] if noun.endswith("ies") else stem(noun))
    is_key = re.search(rf"\b(?:each|per|by|every) (?:the )?{singular}", text, re.IGNORECASE)
    return (*(("by", "on") if is_key else ()), "column", stem(noun))


def _transposed(values: Sequence[Value]) -> Iterator[Value]:
    """Yield the columns of a sequence of tuples; the first covers the sequence."""
    for value in values:
        rows = evaluate_literal(value.code) if value.shape.startswith("list[tuple[") else None
        if not isinstance(rows, list) or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
            continue
        for number, column in enumerate(zip(*rows, strict=True)):
            code = repr(list(column))
            covered = value.covered_ids if number == 0 else frozenset()
            hint = Value(0, code, shape_of(evaluate_literal(code)), members=covered, start=value.start + number)
            yield replace(hint, is_hint=True, columns=len(rows[0]))


def _sizes(values: Sequence[Value], text: str) -> Iterator[Value]:
    """Yield pairs of numbers joined by `by`, as in `20 by 10`."""
    for first, second in pairwise(value for value in values if value.shape in ("int", "float")):
        if _BY.fullmatch(text[first.end : second.start]):
            code, ids = f"({first.code}, {second.code})", first.covered_ids | second.covered_ids
            roles = ("size", "shape", *first.roles)
            yield Value(0, code, f"tuple[{first.shape},{second.shape}]", roles, "", "", ids, first.start, second.end)


def _phrases(values: Sequence[Value], text: str) -> Iterator[Value]:
    """Yield units after numbers and what follows `from`, `to` and `in`, as texts."""
    masked = mask_literals(text)
    for value in values:
        unit = _AFTER_NUMBER.match(masked, value.end) if value.shape in ("int", "float") else None
        if unit:
            yield _hint(repr(unit.group(1)), ("unit", "from"), value.end)
    for match in [*_AFTER_PREPOSITION.finditer(masked)][:_MAX_PHRASES]:
        introduces_value = any(value.start == match.end() + 1 for value in values)
        if match.group(2).lower() not in STOP_WORDS and not introduces_value:
            yield _hint(repr(match.group(2)), (match.group(1),), match.start(2))


def _counted(text: str) -> Iterator[Value]:
    """Yield numbers in words before what they count, as in `one month`."""
    for match in _NUMBER_WORD.finditer(mask_literals(text)):
        code, unit = str(_NUMBER_WORDS.index(match.group(1).lower())), match.group(2)
        yield replace(_hint(code, (stem(unit),), match.start()), shape="int", unit=unit)


def _hint(code: str, roles: tuple[str, ...], start: int) -> Value:
    return Value(0, code, type(ast.literal_eval(code)).__name__, roles, start=start, is_hint=True)
