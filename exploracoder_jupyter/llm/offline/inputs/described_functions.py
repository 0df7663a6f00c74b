"""Functions that a text describes, as code: `numbers greater than 3` is `lambda x: x > 3`."""

from __future__ import annotations

import re

_FUNCTION_CUES: tuple[tuple[str, str], ...] = (
    (r"\beven\b", "lambda x: x % 2 == 0"),
    (r"\bodd\b", "lambda x: x % 2 == 1"),
    (r"\bpositive\b", "lambda x: x > 0"),
    (r"\bnegative\b", "lambda x: x < 0"),
    (r"\b(?:by|their|its|the|word|same) lengths?\b", "len"),
    (r"first (?:letter|character|element|item)", "lambda x: x[0]"),
    (r"last (?:letter|character|element|item)", "lambda x: x[-1]"),
    (r"\bsquar", "lambda x: x ** 2"),
    (r"\bdoubl", "lambda x: 2 * x"),
    (r"\bupper-?case", "str.upper"),
    (r"\blower-?case|case.?insensitiv", "str.lower"),
    (r"\bsum(?:s|med|ming)?\b|\badd(?:ing|ition)\b", "lambda x, y: x + y"),
    (r"\bproduct\b|\bmultipl", "lambda x, y: x * y"),
    (r"\bincrement|\bplus one\b|\badd(?:ing|s)? (?:one|1)\b", "lambda x: x + 1"),
    (r"\bmodulo 3\b|remainder.* 3\b", "lambda x: x % 3"),
)
_COMPARISON = re.compile(
    r"(greater|more|larger|bigger|above|over|less|smaller|fewer|below|under|at least|at most)"
    r"(?: than)? (-?\d+(?:\.\d+)?)"
)
_OPERATORS = {"at least": ">=", "at most": "<="}


def find_callables(text: str) -> tuple[str, ...]:
    """Return functions that a text describes, as code."""
    lowered = text.lower()
    found = re.findall(r"`((?:str|math|operator)\.[a-z_]+)`", text)
    for match in _COMPARISON.finditer(lowered):
        word = match.group(1)
        operator = _OPERATORS.get(word) or ("<" if word in ("less", "smaller", "fewer", "below", "under") else ">")
        found.append(f"lambda x: x {operator} {match.group(2)}")
    found.extend(code for pattern, code in _FUNCTION_CUES if re.search(pattern, lowered))
    return tuple(dict.fromkeys(found))
