"""Plain Python around calls: conversions of a result that a task's wording requests, and functions that it describes.

This module knows only the language and its built-in types, and nothing of any library.
"""

from __future__ import annotations

import re

from exploracoder_jupyter.llm.offline.inputs.value_kinds import kinds_of

IDENTITY = "{x}"
"""A conversion is a template in which `{x}` stands for the result; this one leaves it as it is."""

_CONVERSION_CUES: tuple[tuple[str, str], ...] = (
    (r"\b(?:as|of|into) (?:(?:plain|python) )?lists\b|list of (?:\w+ )?lists", "[list(item) for item in {x}]"),
    (r"\b(?:as|of|into) tuples\b", "[tuple(item) for item in {x}]"),
    (r"\bsorted\b|\bin (?:ascending|alphabetical|increasing) order", "sorted({x})"),
    (r"\b(?:as|in|into|a) (?:a )?(?:plain |python |single |flat |new )*list\b|\bthe list\b|\blist of\b", "list({x})"),
    (r"\bas (?:a )?(?:plain |python )*set\b|\bset of\b", "set({x})"),
    (r"\bas (?:a )?(?:plain |python )*(?:dict|dictionary)\b", "dict({x})"),
    (r"\bas (?:a )?(?:plain |python )*tuple\b", "tuple({x})"),
    (r"\bas (?:a )?(?:plain |python )*(?:string|str|text)\b", "str({x})"),
    (r"\bas (?:an? )?(?:plain |python )*(?:float|floating|(?:real )?numbers?\b)", "float({x})"),
    (r"\bas (?:an? )?(?:plain |python )*int(?:eger)?\b", "int({x})"),
    (r"\bnumber of (?!bytes|seconds|days)|\bhow many\b|\bcount (?:of|the)\b", "len({x})"),
)
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


def find_conversions(text: str, type_: str) -> dict[str, float]:
    """Return conversions of a result of this type (empty: unknown) that the wording requests, with their costs."""
    lowered = text.lower()
    requested = [template for pattern, template in _CONVERSION_CUES if re.search(pattern, lowered)]
    requested = [template for template in requested if _is_applicable(template, type_)]
    is_lazy = kinds_of(type_) == {"sequence"} and not type_.startswith(("list", "tuple", "set", "str"))
    found = {template: 0.02 * rank for rank, template in enumerate(requested)}
    found[IDENTITY] = 0.35 if requested else 0.2 if is_lazy else 0.0
    if not requested and (is_lazy or not type_):
        found["list({x})"] = 0.05 if is_lazy else 0.5
    return found


def _is_applicable(template: str, type_: str) -> bool:
    """Return whether a conversion makes sense: a value is not converted to the type that it already has."""
    head = template.partition("(")[0]
    if type_.partition("[")[0] == head or (type_.startswith(("list[int", "list[float", "list[str")) and "[" in head):
        return False
    if kinds_of(type_) == {"number"}:
        return head not in ("len", "list", "sorted", "[list", "[tuple")
    return not (kinds_of(type_) == {"text"} and "[" in head)
