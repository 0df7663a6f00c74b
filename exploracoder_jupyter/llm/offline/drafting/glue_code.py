"""Plain Python between calls: what a task's wording asks of a result, and the functions it describes.

Only the language and its built-in types are known here; nothing of any library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from exploracoder_jupyter.llm.offline.inputs.value_kinds import kinds_of


@dataclass(frozen=True, slots=True)
class Idiom:
    """A change to a result; `{x}` stands for it."""

    template: str
    cost: float

    def apply(self, expression: str) -> str:
        """The changed expression."""
        return self.template.replace("{x}", expression)


PLAIN = Idiom("{x}", 0.0)

_CUES: tuple[tuple[str, str], ...] = (
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
_DIGITS = {"one": "1", "two": "2", "three": "3", "four": "4"}
_ITEM = re.compile(r"\b(?:key|column|field|index|entry|position) (?:named |called )?('[^']*'|\"[^\"]*\"|\d+)")
_TIMES: tuple[tuple[str, str], ...] = (
    (r"week ?day(?:'s)? name|name of the (?:week ?)?day|day of the week|day name", '{x}.strftime("%A")'),
    (r"month(?:'s)? name|name of the month", '{x}.strftime("%B")'),
    (r"\biso\b", "{x}.isoformat()"),
    (r"\bdate\b", "{x}.date().isoformat()"),
)
_DESCRIBED: tuple[tuple[str, str], ...] = (
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
_COMPARED = re.compile(
    r"(greater|more|larger|bigger|above|over|less|smaller|fewer|below|under|at least|at most)"
    r"(?: than)? (-?\d+(?:\.\d+)?)"
)
_OPERATORS = {"at least": ">=", "at most": "<="}


def callables_in(text: str) -> tuple[str, ...]:
    """Functions that a text describes, as code."""
    lowered = text.lower()
    found = re.findall(r"`((?:str|math|operator)\.[a-z_]+)`", text)
    for match in _COMPARED.finditer(lowered):
        word = match.group(1)
        operator = _OPERATORS.get(word) or ("<" if word in ("less", "smaller", "fewer", "below", "under") else ">")
        found.append(f"lambda x: x {operator} {match.group(2)}")
    found.extend(code for pattern, code in _DESCRIBED if re.search(pattern, lowered))
    return tuple(dict.fromkeys(found))


def idioms(text: str, type_: str, attributes: frozenset[str] = frozenset()) -> list[Idiom]:
    """What may be done to a result of this type (empty: unknown), by the text's wording first, then by the type."""
    asked = [template for pattern, template in _CUES if re.search(pattern, text.lower()) and _applies(template, type_)]
    rounding = _ROUND.search(text.lower())
    if rounding:
        asked.append(f"round({{x}}, {_DIGITS.get(rounding.group(1), rounding.group(1))})")
    for match in _ITEM.finditer(text):
        asked.append(f"{{x}}[{match.group(1)}]")
    timely = [template for pattern, template in _TIMES if re.search(pattern, text.lower())]
    if _timely(type_, attributes):
        asked = [*timely, *asked]
    found = [Idiom(template, 0.02 * rank) for rank, template in enumerate(asked)]
    if timely and not type_:
        found.append(Idiom(timely[0], 0.3))
    lazy = kinds_of(type_) == {"sequence"} and not type_.startswith(("list", "tuple", "set", "str"))
    found.append(Idiom("{x}", 0.35 if asked else 0.2 if lazy and type_ else 0.0))
    if len(asked) > 1:
        found.append(Idiom(asked[1].replace("{x}", asked[0]), 0.2))
        found.append(Idiom(asked[0].replace("{x}", asked[1]), 0.3))
    found.extend(Idiom(template, cost + (0.3 if asked else 0.0)) for template, cost in _by_type(type_))
    cheapest = {idiom.template: idiom for idiom in sorted(found, key=lambda i: -i.cost)}
    return sorted(cheapest.values(), key=lambda i: i.cost)


def conversion(text: str, type_: str) -> Idiom | None:
    """The built-in type that a text asks a result to be given as, if what was seen is sure to be another."""
    if not type_:
        return None
    asked = (template for pattern, template in _CUES if re.search(pattern, text.lower()) and _applies(template, type_))
    listed = kinds_of(type_) == {"sequence"}
    return next((Idiom(t, 0.0) for t in asked if t in _SCALARS or (listed and t in _CONTAINERS)), None)


def _applies(template: str, type_: str) -> bool:
    """Whether a change makes sense: nothing is converted to what it is already known to be."""
    head = template.partition("(")[0]
    if type_ and head in ("list", "set", "dict", "tuple", "str", "float", "int") and type_.partition("[")[0] == head:
        return False
    if kinds_of(type_) == {"number"} and head in ("len", "list", "sorted", "[list", "sum"):
        return False
    if type_.startswith(("list[int", "list[float", "list[str")) and head in ("[list", "[tuple"):
        return False
    return not (kinds_of(type_) == {"text"} and head in ("[list", "[tuple", "sum"))


def _timely(type_: str, attributes: frozenset[str]) -> bool:
    return "strftime" in attributes or type_.rpartition(".")[2].lower() in ("datetime", "date", "timestamp")


def _by_type(type_: str) -> list[tuple[str, float]]:
    """Changes worth trying with no word for them, with their costs."""
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
