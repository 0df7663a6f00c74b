"""Decides whether a value fits a parameter, by kinds of values, documented types and typical parameter names."""

from __future__ import annotations

import re
from itertools import accumulate

from exploracoder_jupyter.llm.offline.inputs.word_matching import name_stems

_TYPE_PATTERNS = (
    ("callable", re.compile(r"callable|function|lambda|callback")),
    ("bool", re.compile(r"\bbool")),
    ("dict", re.compile(r"\bdict|mapping")),
    (
        "sequence",
        re.compile(
            r"list|sequence|iterable|iterator|array|tuple|\bset\b|collection|matrix|ndarray|series|rows|typing\.any\]"
        ),
    ),
    ("number", re.compile(r"\bint|float|number|numeric|scalar|real|complex|decimal|count|\bsize\b|supportsindex")),
    ("text", re.compile(r"\bstr|string|text|\bchar|path|bytes|anystr|regex|pattern")),
)
_NAMES_BY_KIND = {
    "number": "n k size count num number times ndigits digits precision decimals width length depth maxsize start"
    " stop step index days hours minutes seconds weeks months years year month day hour minute second"
    " amount limit level x0 radius order degree cutoff tolerance tol threshold seed random_state window"
    " maxlen value_count sides min_length max_length n_clusters percent number1 number2",
    "text": "s s1 s2 str string text sentence word words phrase line prefix suffix sep separator delimiter"
    " pattern expr expression name title path url uri html xml markdown source1 date_string timestr"
    " dateutil language lang locale encoding chars character doc document str1 str2 left_text seq1_text"
    " hex_value query formula noun verb",
    "sequence": "iterable iterables seq seqs sequence items data xs values list lst array arr a elements rows points"
    " coords coordinates collection samples population it iterator pairs edges ebunch ebunch_to_add nodes"
    " headers columns words_list tabular_data obs",
    "dict": "d dict dictionary mapping mappings dicts m",
    "callable": "func function fn key_func pred predicate callback callable mapper keyfunc binop op",
}
_KIND_BY_NAME = {name: kind for kind, names in _NAMES_BY_KIND.items() for name in names.split()}
_ITERATOR = re.compile(
    r"(?:\A|\.)(?:generator|map|filter|zip|enumerate|ndarray|deque|reversed"
    r"|[^.]*(?:iterator|iterable|keys|values|items|view))\Z"
)
_SEQUENCES = frozenset({"list", "tuple", "set", "frozenset", "range"})


def kinds_of(shape: str) -> frozenset[str]:
    """Return the kinds that a value of this shape can be used as."""
    if shape in ("int", "float", "complex"):
        return frozenset({"number"})
    if shape in ("str", "bytes"):
        return frozenset({"text"})
    if shape.partition("[")[0] in _SEQUENCES:
        return frozenset({"sequence"})
    if shape.partition("[")[0] == "dict":
        return frozenset({"dict"})
    if shape in ("bool", "callable"):
        return frozenset({shape})
    return frozenset({"sequence" if _ITERATOR.search(shape.lower()) else "object"})


def expected_kinds(type_: str, name: str) -> frozenset[str]:
    """Return the kinds that a parameter expects by its documented type, else by its name; empty if neither is known."""
    if type_:
        kinds = frozenset(kind for kind, pattern in _TYPE_PATTERNS if pattern.search(type_))
        return kinds if kinds or len(type_) > 1 else frozenset()
    name = name.lower().strip("_")
    known = _KIND_BY_NAME.get(name) or _KIND_BY_NAME.get(name_stems(name)[-1] if name_stems(name) else "")
    return frozenset({known}) if known else frozenset()


def compatibility(shape: str, type_: str, name: str) -> float:
    """Rate how well a value of this shape fits a parameter: 1 as documented, 0 unknown, -1 contradicting.

    A documented type counts as certain, a typical parameter name as a hint.
    """
    kinds, expected = kinds_of(shape), expected_kinds(type_, name)
    if "object" in kinds:
        return _object_compatibility(shape, type_, name, expected)
    if kinds & expected:
        return 1.0 if type_ else 0.6
    if not expected or expected <= {"bool"}:
        return 0.0 if not type_ or _is_generic(type_) else -0.5
    if "text" in kinds and "sequence" in expected:
        return -0.2 if not type_ else -0.5
    return -1.0 if type_ and not _is_generic(type_) else -0.5


def _is_generic(type_: str) -> bool:
    return bool(
        re.search(
            r"\bany\b|object|\b[a-z]_?\d?\b|hashable|node|label|element|value|array_like|array-like|scalar", type_
        )
    )


def _object_compatibility(shape: str, type_: str, name: str, expected: frozenset[str]) -> float:
    last = shape.rpartition(".")[2].lower()
    if type_ and re.search(rf"\b{re.escape(last)}\b", type_):
        return 1.5
    if name.lower() == last or (len(name) == 1 and name.isupper() and last.startswith(name.lower())):
        return 1.2
    class_stems, parameter_stems = name_stems(last), (*name_stems(name), *name_stems(type_))
    if set(class_stems) & set(parameter_stems):
        return 1.0
    if expected and not _is_generic(type_):
        return -0.6 if expected != {"sequence"} else -0.1
    return 0.1


def shape_similarity(shape: str, other: str) -> float:
    """Rate the structural similarity of two shapes, from 0 to 1."""
    if shape.replace("float", "int") == other.replace("float", "int"):
        return 1.0 if shape == other else 0.95
    if "any" in (shape, other):
        return 0.7
    outer, other_outer = shape.partition("[")[0], other.partition("[")[0]
    if outer == other_outer and "[" in shape:
        return 0.8
    return 0.6 if {outer, other_outer} <= _SEQUENCES else 0.0


def nesting_depth(shape: str) -> int:
    """Return how deep a shape is nested: 0 for a scalar, 2 for `list[list[int]]`."""
    return max(accumulate(1 if char == "[" else -1 for char in shape if char in "[]"), default=0)
