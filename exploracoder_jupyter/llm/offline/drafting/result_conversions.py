"""Conversions of a result by plain Python: those that a task's wording requests, and those that its type suggests.

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
    cost: float = 0.0

    def apply(self, expression: str) -> str:
        """Return the converted expression."""
        return self.template.replace("{x}", expression)


IDENTITY = Idiom("{x}")

_AS = r"\bas (?:an? )?(?:plain |python |real )*"
_CUES: tuple[tuple[str, str], ...] = (
    (r"\b(?:as|of|into) (?:(?:plain|python) )?lists\b|list of (?:\w+ )?lists", "[list(item) for item in {x}]"),
    (r"\b(?:as|of|into) tuples\b", "[tuple(item) for item in {x}]"),
    (r"\bsorted\b(?! by)|\bin (?:ascending|alphabetical|increasing) order", "sorted({x})"),
    (r"\b(?:as|in|into|a) (?:a )?(?:plain |python |single |flat |new )*list\b|\blist of\b", "list({x})"),
    (rf"{_AS}set\b|\bset of\b", "set({x})"),
    (rf"{_AS}dict(?:ionary)?\b", "dict({x})"),
    (rf"{_AS}tuple\b", "tuple({x})"),
    (rf"{_AS}(?:string|str|text)\b", "str({x})"),
    (rf"{_AS}(?:float|floating|numbers?)\b", "float({x})"),
    (rf"{_AS}int(?:eger)?\b", "int({x})"),
    (r"\bnumber of (?!bytes|seconds|days)|\bhow many\b|\bcount (?:of|the)\b", "len({x})"),
    (r"\bupper-?case", "{x}.upper()"),
    (r"\blower-?case", "{x}.lower()"),
    (r"\b(?:total|sum) of\b", "sum({x})"),
)
_ROUND = re.compile(r"\bround(?:ed)?\b.*?\bto (\d+|one|two|three|four)\b")
_NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4"}


def find_idioms(text: str, type_: str) -> list[Idiom]:
    """Return conversions for a result of this type (empty: unknown), first by the text's wording, then by the type."""
    requested = [
        template for cue, template in _CUES if re.search(cue, text.lower()) and _is_applicable(template, type_)
    ]
    rounding = _ROUND.search(text.lower())
    if rounding:
        requested.append(f"round({{x}}, {_NUMBER_WORDS.get(rounding.group(1), rounding.group(1))})")
    found = [Idiom(template, 0.02 * rank) for rank, template in enumerate(requested)]
    suggested = _suggested_by_type(type_)
    is_lazy = bool(suggested) and suggested[0].cost < 0.2
    found.append(Idiom("{x}", 0.35 if requested else 0.2 if is_lazy else 0.0))
    found.extend(Idiom(idiom.template, idiom.cost + (0.3 if requested else 0.0)) for idiom in suggested)
    cheapest = {idiom.template: idiom for idiom in sorted(found, key=lambda idiom: -idiom.cost)}
    return sorted(cheapest.values(), key=lambda idiom: idiom.cost)


def _is_applicable(template: str, type_: str) -> bool:
    """Return whether a conversion makes sense: a value is not converted to the type that it already has."""
    head = template.partition("(")[0]
    if type_ and type_.partition("[")[0] == head:
        return False
    if kinds_of(type_) == {"number"} and head in ("len", "list", "sorted", "[list", "sum"):
        return False
    if type_.startswith(("list[int", "list[float", "list[str")) and head in ("[list", "[tuple"):
        return False
    return not (kinds_of(type_) == {"text"} and head in ("[list", "[tuple", "sum"))


def _suggested_by_type(type_: str) -> list[Idiom]:
    """Return conversions that are worth trying without any cue in the text; none before a run has shown the type."""
    kinds, last = kinds_of(type_), type_.rpartition(".")[2].lower()
    if not type_ or kinds & {"number", "text", "dict", "bool"}:
        return []
    if "array" in last or last in ("series", "float64", "int64", "index"):
        return [Idiom("{x}.tolist()", 0.25), Idiom("list({x})", 0.4), Idiom("{x}[0]", 0.5), Idiom("float({x})", 0.7)]
    if type_.startswith(("list", "tuple", "set")):
        return [Idiom("list({x})", 0.5), Idiom("[list(item) for item in {x}]", 0.6), Idiom("{x}[0]", 0.8)]
    if kinds == {"sequence"}:
        return [Idiom("list({x})", 0.05), Idiom("[list(item) for item in {x}]", 0.4), Idiom("dict({x})", 0.9)]
    return [Idiom("list({x})", 0.5), Idiom("float({x})", 0.8), Idiom("{x}[0]", 0.8)]
