"""Conversions of a result that a task's wording requests: plain Python, without knowledge of any library."""

from __future__ import annotations

import re

from exploracoder_jupyter.llm.offline.inputs.value_kinds import kinds_of

_GENERATORS = frozenset({"generator", "map", "filter", "zip", "enumerate", "reversed"})
_LAZY = re.compile(rf"\A(?:{'|'.join(_GENERATORS)}|\w*(?:iterator|iterable|keys|values|items|view))\Z")
_REQUESTED = 0.35
"""The cost of leaving a result as it is where the wording requests a conversion."""
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


def find_conversions(text: str, type_: str) -> dict[str, float]:
    """Return conversions of a result of this type (empty: unknown) that the wording requests, with their costs."""
    lowered = text.lower()
    requested = [template for pattern, template in _CONVERSION_CUES if re.search(pattern, lowered)]
    requested = [template for template in requested if _is_applicable(template, type_)]
    is_lazy = kinds_of(type_) == {"sequence"} and not type_.startswith(("list", "tuple", "set", "str"))
    found = {template: 0.02 * rank for rank, template in enumerate(requested)}
    found[IDENTITY] = _REQUESTED if requested else 0.2 if is_lazy else 0.0
    if not requested and (is_lazy or not type_):
        found["list({x})"] = 0.05 if is_lazy else 0.5
    return found


def best_conversion(text: str, type_: str) -> str:
    """Return the conversion of a generator, a view or the like to what the wording stores: a list, set, dict or number.

    Empty for a value of any other type, and for one that may be wanted as it is.
    """
    name = type_.rpartition(".")[2]
    found = find_conversions(text, name) if _LAZY.search(name.lower()) else {}
    best = min((template for template in found if template != IDENTITY), key=found.__getitem__, default="")
    is_requested = found.get(IDENTITY, 0.0) >= _REQUESTED
    # a generator equals no literal, and has no length
    return best.replace("len({x})", "len(list({x}))") if is_requested or name in _GENERATORS else ""


def _is_applicable(template: str, type_: str) -> bool:
    """Return whether a conversion makes sense: a value is not converted to the type that it already has."""
    head = template.partition("(")[0]
    if type_.partition("[")[0] == head or (type_.startswith(("list[int", "list[float", "list[str")) and "[" in head):
        return False
    if kinds_of(type_) == {"number"}:
        return head not in ("len", "list", "sorted", "[list", "[tuple")
    return not (kinds_of(type_) == {"text"} and "[" in head)
