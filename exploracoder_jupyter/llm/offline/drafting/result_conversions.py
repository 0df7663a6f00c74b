"""Plain Python between calls: conversions of a result that a task's wording requests, and functions that it describes.

This module knows only the language and its built-in types, and nothing of any library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from exploracoder_jupyter.llm.offline.inputs.value_kinds import kinds_of


@dataclass(frozen=True, slots=True)
class Idiom:
    """A conversion of a result; `{x}` stands for it."""

    template: str
    cost: float

    def apply(self, expression: str) -> str:
        """Return the converted expression."""
        return self.template.replace("{x}", expression)


IDENTITY = Idiom("{x}", 0.0)

_CONVERSION_CUES: tuple[tuple[str, str], ...] = (
    (r"\b(?:as|of|into) (?:(?:plain|python) )?lists\b|list of (?:\w+ )?lists", "[list(item) for item in {x}]"),
    (r"\b(?:as|of|into) tuples\b", "[tuple(item) for item in {x}]"),
    (r"\bsorted\b|\bin (?:ascending|alphabetical|increasing) order", "sorted({x})"),
    (r"\b(?:as|in|into|a) (?:a )?(?:plain |python |single |flat |new )*list\b|\blist of\b", "list({x})"),
    (r"\bas (?:a )?(?:plain |python )*set\b|\bset of\b", "set({x})"),
    (r"\bas (?:a )?(?:plain |python )*(?:dict|dictionary)\b", "dict({x})"),
    (r"\bas (?:a )?(?:plain |python )*tuple\b", "tuple({x})"),
    (r"\bas (?:a )?(?:plain |python )*(?:string|str|text)\b", "str({x})"),
    (r"\bas (?:an? )?(?:plain |python )*(?:float|floating)", "float({x})"),
    (r"\bas (?:an? )?(?:plain |python )*int(?:eger)?\b", "int({x})"),
    (r"\bnumber of (?!bytes|seconds|days)|\bhow many\b|\bcount (?:of|the)\b", "len({x})"),
    (r"\bupper-?case", "{x}.upper()"),
    (r"\blower-?case", "{x}.lower()"),
    (r"\b(?:total|sum) of\b", "sum({x})"),
    (r"\bas (?:an? )?(?:real )?numbers?\b", "float({x})"),
)
_SCALARS = ("dict({x})", "str({x})", "float({x})", "int({x})")
_CONTAINERS = ("list({x})", "set({x})", "tuple({x})", "[list(item) for item in {x}]", "[tuple(item) for item in {x}]")
_ROUND = re.compile(r"\bround(?:ed)?\b.*?\bto (\d+|one|two|three|four)\b")
_NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4"}
_ITEM = re.compile(r"\b(?:key|column|field|index|entry|position) (?:named |called )?('[^']*'|\"[^\"]*\"|\d+)")
_DATE_CUES: tuple[tuple[str, str], ...] = (
    (r"week ?day(?:'s)? name|name of the (?:week ?)?day|day of the week|day name", '{x}.strftime("%A")'),
    (r"month(?:'s)? name|name of the month", '{x}.strftime("%B")'),
    (r"\biso\b", "{x}.isoformat()"),
    (r"\bdate\b", "{x}.date().isoformat()"),
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


def find_idioms(text: str, type_: str, attributes: frozenset[str] = frozenset()) -> list[Idiom]:
    """Return conversions for a result of this type (empty: unknown), first by the text's wording, then by the type."""
    requested = [
        template
        for pattern, template in _CONVERSION_CUES
        if re.search(pattern, text.lower()) and _is_applicable(template, type_)
    ]
    rounding = _ROUND.search(text.lower())
    if rounding:
        requested.append(f"round({{x}}, {_NUMBER_WORDS.get(rounding.group(1), rounding.group(1))})")
    for match in _ITEM.finditer(text):
        requested.append(f"{{x}}[{match.group(1)}]")
    date_templates = [template for pattern, template in _DATE_CUES if re.search(pattern, text.lower())]
    if _is_date(type_, attributes):
        requested = [*date_templates, *requested]
    found = [Idiom(template, 0.02 * rank) for rank, template in enumerate(requested)]
    if date_templates and not type_:
        found.append(Idiom(date_templates[0], 0.3))
    is_lazy = kinds_of(type_) == {"sequence"} and not type_.startswith(("list", "tuple", "set", "str"))
    found.append(Idiom("{x}", 0.35 if requested else 0.2 if is_lazy and type_ else 0.0))
    if len(requested) > 1:
        found.append(Idiom(requested[1].replace("{x}", requested[0]), 0.2))
        found.append(Idiom(requested[0].replace("{x}", requested[1]), 0.3))
    found.extend(Idiom(template, cost + (0.3 if requested else 0.0)) for template, cost in _idioms_by_type(type_))
    cheapest = {idiom.template: idiom for idiom in sorted(found, key=lambda idiom: -idiom.cost)}
    return sorted(cheapest.values(), key=lambda idiom: idiom.cost)


def requested_conversion(text: str, type_: str) -> Idiom | None:
    """Return the conversion to a built-in type that a text requests, if the observed type is certainly another."""
    if not type_:
        return None
    requested = (
        template
        for pattern, template in _CONVERSION_CUES
        if re.search(pattern, text.lower()) and _is_applicable(template, type_)
    )
    is_sequence = kinds_of(type_) == {"sequence"}
    return next(
        (
            Idiom(template, 0.0)
            for template in requested
            if template in _SCALARS or (is_sequence and template in _CONTAINERS)
        ),
        None,
    )


def _is_applicable(template: str, type_: str) -> bool:
    """Return whether a conversion makes sense: a value is not converted to the type that it already has."""
    head = template.partition("(")[0]
    if type_ and head in ("list", "set", "dict", "tuple", "str", "float", "int") and type_.partition("[")[0] == head:
        return False
    if kinds_of(type_) == {"number"} and head in ("len", "list", "sorted", "[list", "sum"):
        return False
    if type_.startswith(("list[int", "list[float", "list[str")) and head in ("[list", "[tuple"):
        return False
    return not (kinds_of(type_) == {"text"} and head in ("[list", "[tuple", "sum"))


def _is_date(type_: str, attributes: frozenset[str]) -> bool:
    return "strftime" in attributes or type_.rpartition(".")[2].lower() in ("datetime", "date", "timestamp")


def _idioms_by_type(type_: str) -> list[tuple[str, float]]:
    """Return conversions that are worth trying without any cue in the text, with their costs."""
    kinds = kinds_of(type_) if type_ else frozenset({"unknown"})
    last = type_.rpartition(".")[2].lower()
    if "array" in last or last in ("series", "float64", "int64", "index"):
        return [("{x}.tolist()", 0.25), ("float({x})", 0.7), ("{x}[0]", 0.5), ("list({x})", 0.4)]
    if kinds <= {"number"}:
        return [("int({x})", 1.2), ("float({x})", 1.2), ("round({x}, 2)", 1.4)]
    if kinds <= {"text"}:
        return [("{x}.strip()", 1.2), ("{x}.lower()", 1.4)]
    if type_.startswith(("list", "tuple", "set")):
        nested = (
            [("[list(item) for item in {x}]", 0.6)]
            if not type_.startswith(("list[int", "list[str", "list[float"))
            else []
        )
        return [
            ("list({x})", 0.5),
            *nested,
            ("sorted({x})", 0.7),
            ("{x}[0]", 0.8),
            ("len({x})", 1.0),
            ("set({x})", 1.1),
        ]
    if kinds <= {"sequence"}:
        return [("list({x})", 0.05), ("[list(item) for item in {x}]", 0.4), ("sorted({x})", 0.6), ("dict({x})", 0.9)]
    if kinds <= {"dict"}:
        return [("dict({x})", 0.4), ("list({x})", 0.9), ("list({x}.values())", 1.0)]
    return [
        ("list({x})", 0.5),
        ("str({x})", 0.6),
        ("float({x})", 0.8),
        ("dict({x})", 0.9),
        ("[list(item) for item in {x}]", 0.9),
    ]
