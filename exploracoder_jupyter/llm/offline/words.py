"""Words, kinds of values and parameters, as the offline model compares them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.text.tokenizer import split_identifier, stem

# Splits, stems and compares the words of tasks and names.
#
# Matching is deliberately lexical, as the offline model does not understand language. Names are split at
# underscores and capitals and words are stemmed; abbreviations (`fmt` for `format`) and a small thesaurus of
# programming English bridge the rest.

_STOP_WORDS = """
a all an and answer any are as assign assigned at be between both by calculate calculates call called code
compute computes determine do does each every find finds following for from get gets give given gives i if in
into is it its keep let library make makes me my name named new obtain of on one or our output per please
program put python result results return returns save saved set-up so store stored such task than that the
their them then these they this those to two use using value values variable via we when where which with you
your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that are irrelevant to which API is meant."""

_SYNONYM_GROUPS = """
average mean; remove delete drop discard strip erase; merge join combine concat concatenate union; split chunk
partition divide batch; reverse backwards invert; convert transform translate cast change; parse load loads decode
read interpret; serialise serialize dump dumps encode write; build create construct generate initialise; biggest
largest maximum max highest greatest; smallest lowest minimum min least; number count amount num n; common shared
intersection mutual overlap; similarity ratio similar closeness alike; insert add append put push; show render
display print format draw; search query lookup look; duplicate repeated unique distinct dedupe; order sort; equation
solve root; text string str sentence; group bucket groupby cluster; difference diff delta subtract; nested nest deep
recursive; flat flatten collapse; ordinal nth position; index position; key field column; predict prediction
forecast; fit train learn; derivative differentiate diff; integral integrate antiderivative; dictionary dict mapping
map; human natural readable friendly; distance metric; circle round disk; fetch get retrieve access; width columns
characters; pair two couple; sliding slide moving rolling window; consecutive adjacent successive neighbouring;
ascii transliterate unidecode plain; url uri link; words word tokens token
"""
"""Groups of words that mean the same among names of APIs."""

_SYNONYMS: dict[str, frozenset[str]] = {}
for _group in _SYNONYM_GROUPS.split(";"):
    _stems = frozenset(stem(word) for word in _group.split())
    for _stem in _stems:
        _SYNONYMS[_stem] = _SYNONYMS.get(_stem, frozenset()) | _stems


@lru_cache(maxsize=50_000)
def name_stems(name: str) -> tuple[str, ...]:
    """Return the stemmed words of an identifier or a text, in order."""
    return tuple(stem(word.lower()) for word in split_identifier(name))


@lru_cache(maxsize=20_000)
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stemmed words of a text that may name an API, each once, in order."""
    words = [
        word for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", text.replace("_", " ")) if word.lower() not in STOP_WORDS
    ]
    return tuple(dict.fromkeys(part for word in words for part in name_stems(word)))


@lru_cache(maxsize=200_000)
def similarity(word: str, other: str) -> float:
    """Rate how similar two stems are in meaning, from 0 to 1."""
    if word == other:
        return 1.0
    if other in _SYNONYMS.get(word, ()):
        return 0.75
    short, long = sorted((word, other), key=len)
    if len(short) >= 4 and long.startswith(short):
        return 0.8 if len(long) - len(short) <= 3 else 0.6
    if len(short) >= 4 and short in long:
        return 0.6
    if len(short) == 3 and long.startswith(short) and len(long) >= 5:
        return 0.55
    if 3 <= len(short) <= 4 and is_abbreviation(short, long):
        return 0.5
    return 0.0


def is_abbreviation(short: str, long: str, *, omitted: int = 4) -> bool:
    """Return whether `short` is `long` with at most so many letters omitted, such as `fmt` for `format`."""
    if not short or short[0] != long[0] or len(long) - len(short) > omitted:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


def best_similarity(word: str, others: Iterable[str]) -> float:
    """Return the similarity of the word to the most similar of the others."""
    return max((similarity(word, other) for other in others), default=0.0)


# Decides whether a value fits a parameter, by kinds of values, documented types and typical parameter names.

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


# The parameters and the type of the result of an API, from its signature and what its documentation says of them.

Kind = Literal["positional", "keyword", "varargs", "varkeywords"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a call, excluding the receiver."""

    name: str
    kind: Kind
    required: bool
    default: str = ""
    type: str = ""
    """Annotation or documented type, in lower case; empty if unknown."""
    text: str = ""


@lru_cache(maxsize=4096)
def parse_parameters(api: ApiDoc) -> tuple[Parameter, ...]:
    """Return the parameters without `self` and `cls`; empty if the signature is unknown."""
    arguments = _parse_signature(api.signature)
    if arguments is None:
        return ()
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    rows: list[tuple[ast.arg, Kind, ast.expr | None]] = [
        (arg, "positional", default) for arg, default in zip(positional, defaults, strict=True)
    ]
    rows.extend((arg, "varargs", None) for arg in [arguments.vararg] if arg)
    rows.extend((arg, "keyword", value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    rows.extend((arg, "varkeywords", None) for arg in [arguments.kwarg] if arg)
    documented = {item.name.strip("*"): (item.type, item.about) for item in api.parameters}
    found = []
    for arg, kind, default in rows:
        type_, text = documented.get(arg.arg, ("", ""))
        type_ = type_ or (ast.unparse(arg.annotation) if arg.annotation else "")
        required = default is None and kind in ("positional", "keyword")
        found.append(Parameter(arg.arg, kind, required, ast.unparse(default) if default else "", type_.lower(), text))
    return tuple(found[1:] if found and found[0].name in ("self", "cls") else found)


def return_type(api: ApiDoc) -> str:
    """Return the type of the result, or the class itself; empty if it is unknown, or one of several."""
    if api.kind == "class":
        return api.path
    annotation = api.signature.rpartition("->")[2] if "->" in api.signature else api.returns.partition(". ")[0]
    type_ = annotation.rpartition(": ")[2].strip("'\" ")
    return type_ if re.fullmatch(r"[\w.\[\], ]+", type_) and " or " not in type_ and len(type_.split()) <= 3 else ""


def _parse_signature(signature: str) -> ast.arguments | None:
    """Parse a signature; one with brackets around optional parts, as in `(start[, stop])`, for its names only."""
    text = re.sub(r"<[^<>]*>", "None", signature.strip())
    head, _, optional = text.partition("[")
    names = [f", {name}=None" for name in re.findall(r"[A-Za-z_]\w*", optional) if name != "None"]
    for attempt in (text, text.partition("->")[0], f"{head}{''.join(names)})"):
        for node in parse_python(f"def f{attempt}: pass").body:
            return node.args if isinstance(node, ast.FunctionDef) else None
    return None
