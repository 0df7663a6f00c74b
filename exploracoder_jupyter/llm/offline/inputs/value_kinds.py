"""Whether a value fits where it is wanted: kinds of values, of documented types and of telling parameter names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from exploracoder_jupyter.llm.offline.inputs.word_matching import parts

_WANTED = (
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
_TELLING = {
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
_NAMES = {name: kind for kind, names in _TELLING.items() for name in names.split()}
_SEQUENCES = ("list[", "tuple[", "set[", "frozenset[")


def kinds_of(shape: str) -> frozenset[str]:
    """The kinds a value of this shape can pass for."""
    if shape in ("int", "float", "complex"):
        return frozenset({"number"})
    if shape in ("str", "bytes"):
        return frozenset({"text"})
    if shape.startswith(_SEQUENCES) or shape in ("list", "tuple", "set", "range", "frozenset"):
        return frozenset({"sequence"})
    if shape == "dict" or shape.startswith("dict["):
        return frozenset({"dict"})
    if shape in ("bool", "callable"):
        return frozenset({shape})
    if _is_iterator(shape):
        return frozenset({"sequence"})
    return frozenset({"object"})


def _is_iterator(shape: str) -> bool:
    last = shape.rpartition(".")[2].lower()
    return last in ("generator", "map", "filter", "zip", "enumerate", "ndarray", "deque", "reversed") or last.endswith(
        ("iterator", "iterable", "keys", "values", "items", "view")
    )


def wanted_kinds(type_: str, name: str) -> frozenset[str]:
    """The kinds a parameter asks for by its documented type, else by its name; empty when neither tells."""
    if type_:
        found = frozenset(kind for kind, pattern in _WANTED if pattern.search(type_))
        return found if found or len(type_) > 1 else frozenset()
    name = name.lower().strip("_")
    known = _NAMES.get(name) or _NAMES.get(parts(name)[-1] if parts(name) else "")
    return frozenset({known}) if known else frozenset()


def compatible(shape: str, type_: str, name: str) -> float:
    """How well a value of this shape fits a parameter: 1 as documented, 0 unknown, -1 contradicting.

    A documented type counts as certain, a telling name as a hint.
    """
    kinds, wanted = kinds_of(shape), wanted_kinds(type_, name)
    if "object" in kinds:
        return _object_fits(shape, type_, name, wanted)
    if kinds & wanted:
        return 1.0 if type_ else 0.6
    if not wanted or wanted <= {"bool"}:
        return 0.0 if not type_ or _open(type_) else -0.5
    if "text" in kinds and "sequence" in wanted:
        return -0.2 if not type_ else -0.5
    return -1.0 if type_ and not _open(type_) else -0.5


def _open(type_: str) -> bool:
    return bool(
        re.search(
            r"\bany\b|object|\b[a-z]_?\d?\b|hashable|node|label|element|value|array_like|array-like|scalar", type_
        )
    )


def _object_fits(shape: str, type_: str, name: str, wanted: frozenset[str]) -> float:
    last = shape.rpartition(".")[2].lower()
    if type_ and re.search(rf"\b{re.escape(last)}\b", type_):
        return 1.5
    if name.lower() == last or (len(name) == 1 and name.isupper() and last.startswith(name.lower())):
        return 1.2
    own, asked = parts(last), (*parts(name), *parts(type_))
    if set(own) & set(asked):
        return 1.0
    if wanted and not _open(type_):
        return -0.6 if wanted != {"sequence"} else -0.1
    return 0.1


def likeness_of_shapes(shape: str, other: str) -> float:
    """How alike two literals are built, 0 to 1."""
    if shape == other:
        return 1.0
    if {shape, other} <= {"int", "float"}:
        return 0.95
    if "any" in (shape, other):
        return 0.7
    one, two = _inner(shape), _inner(other)
    if one is None or two is None:
        return 0.25 if {shape, other} & {"str"} and (one or two) else 0.0
    (outer, inside), (outer2, inside2) = one, two
    same = 1.0 if outer == outer2 else 0.9 if "dict" not in (outer, outer2) else 0.3
    if outer == outer2 == "tuple" and len(inside) != len(inside2):
        return 0.4
    if outer != outer2 and "tuple" in (outer, outer2):
        inside, inside2 = inside[:1], inside2[:1]
    if not inside or not inside2:
        return 0.7 * same
    pairs = [likeness_of_shapes(a, b) for a, b in zip(inside, inside2, strict=False)]
    return same * (0.5 + 0.5 * sum(pairs) / len(pairs))


def _inner(shape: str) -> tuple[str, Sequence[str]] | None:
    if "[" not in shape:
        return None
    outer, _, rest = shape.partition("[")
    found, depth, current = [], 0, ""
    for char in rest[:-1]:
        depth += (char == "[") - (char == "]")
        if char == "," and not depth:
            found.append(current)
            current = ""
        else:
            current += char
    return outer, [*found, current] if current else found


def rank(shape: str) -> int:
    """How deep a shape is nested: 0 for a scalar, 2 for `list[list[int]]`."""
    inner = _inner(shape)
    return 0 if inner is None else 1 + max((rank(item) for item in inner[1][:1]), default=0)
