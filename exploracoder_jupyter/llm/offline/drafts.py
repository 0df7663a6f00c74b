"""Drafts from signatures: parameters bound to available values, and results converted as the task words them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.goals import Goal
from exploracoder_jupyter.llm.offline.task import Value
from exploracoder_jupyter.llm.offline.words import (
    Parameter,
    best_similarity,
    compatibility,
    expected_kinds,
    kinds_of,
    name_stems,
    parse_parameters,
    similarity,
)
from exploracoder_jupyter.text.tokenizer import stem

# Drafts calls from signatures: parameters are bound to the available values by name, role, documented type and
# order.
#
# `bind_parameters` enumerates ways to fill a parameter list, best first. A call is ruled out if no value fits a
# required parameter; an optional one is only passed what a role or the documentation associates with it.

_BEAM_WIDTH = 12
_LEAST_FIT = -0.2
_ROLE_WEIGHTS = (1.0, 0.85, 0.7, 0.5, 0.4, 0.3)
_NAMES_BY_PREPOSITION = {
    "from": "source src start begin lo low lower first a u from_ frm since unit_from",
    "to": "target dst dest stop end hi high upper last b v to_ until unit_to",
    "by": "by step k n amount offset",
    "with": "with_ other right second b",
    "of": "n k size",
    "into": "n k sections",
    "at": "at index position pos",
    "between": "a left first s1",
}
_NAME_SETS_BY_PREPOSITION = {word: frozenset(names.split()) for word, names in _NAMES_BY_PREPOSITION.items()}


@dataclass(frozen=True, slots=True)
class Binding:
    """One way to fill a parameter list, or the beginning of it."""

    arguments: tuple[tuple[str, str], ...] = ()
    """Keyword, or an empty string for a positional argument, and code."""
    used: frozenset[int] = frozenset()
    gain: float = 0.0
    penalty: float = 0.0
    last: int = -1
    """The furthest position in the text of a value so far."""

    @property
    def code(self) -> str:
        """The arguments as code, positional ones first."""
        ordered = sorted(self.arguments, key=lambda argument: bool(argument[0]))
        return ", ".join(f"{keyword}={code}" if keyword else code for keyword, code in ordered)

    def add(self, keyword: str, argument: str | Value, *, gain: float = 0.0, penalty: float = 0.0) -> Binding:
        """Return the binding with one more argument: a value of the task, or code."""
        if isinstance(argument, Value):
            code, used, start = argument.code, argument.covered_ids, argument.start
        else:
            code, used, start = argument, frozenset(), -1
        arguments = (*self.arguments, (keyword, code))
        return Binding(arguments, self.used | used, self.gain + gain, self.penalty + penalty, max(self.last, start))


def role_match(value: Value, name: str) -> float:
    """Rate how strongly the words around a value indicate a parameter of this name, from 0 to about 3."""
    if value.name == name:
        return 3.0
    if value.name.lower() == name.lower():
        return 2.2
    if value.name:
        return best_similarity(stem(value.name.lower()), name_stems(name))
    score = 0.0
    for role, weight in zip(value.roles, _ROLE_WEIGHTS, strict=False):
        if name.lower() in _NAME_SETS_BY_PREPOSITION.get(role, ()):
            score = max(score, 1.2 * weight)
        elif role not in _NAME_SETS_BY_PREPOSITION:
            likeness = 0.5 * (role[0] == name.lower()) if len(name) == 1 else best_similarity(role, name_stems(name))
            score = max(score, 1.4 * weight * likeness)
    return score


def bind_parameters(api: ApiDoc, goal: Goal, *, limit: int = 4) -> list[Binding]:
    """Return up to `limit` ways to call the API, best first; none if no value fits a required parameter."""
    parameters = parse_parameters(api)
    beam = [Binding()]
    for parameter in parameters:
        if parameter.required:
            extended = (option for binding in beam for option in _options(parameter, binding, goal))
            beam = sorted(extended, key=lambda binding: -binding.gain)[:_BEAM_WIDTH]
    found = [_add_optional(binding, parameters, goal) for binding in beam[:limit]]
    best = max((binding.gain for binding in found), default=0.0)
    found = [
        replace(binding, penalty=binding.penalty + 0.4 * (best - binding.gain) + max(0.0, 0.3 - 0.15 * binding.gain))
        for binding in found
    ]
    known = {binding.code for binding in found}
    return [*found, *(binding for binding in _bind_in_order(parameters, goal) if binding.code not in known)]


def _bind_in_order(parameters: Sequence[Parameter], goal: Goal) -> list[Binding]:
    """Pass the first value, or all values, in the order of the text to parameters that may stay unused."""
    positional = [item for item in parameters if item.kind == "positional"]
    required = sum(item.required for item in positional)
    values = sorted(goal.values, key=lambda value: value.start)
    inner = frozenset[int]().union(*(value.members for value in values))
    outer, singles = [v for v in values if v.id not in inner], [v for v in values if not v.members]
    found: dict[str, Binding] = {}
    for chosen in (outer[:1], outer, singles):
        fits = [compatibility(v.shape, p.type, p.name) for v, p in zip(chosen, positional, strict=False)]
        if required < len(chosen) == len(fits) and min(fits) >= _LEAST_FIT:
            binding = Binding(gain=0.5, penalty=0.225)
            for value in chosen:
                binding = binding.add("", value)
            found.setdefault(binding.code, binding)
    return list(found.values())


def _options(parameter: Parameter, binding: Binding, goal: Goal) -> list[Binding]:
    """Return the binding extended by each of the best ways to fill one more required parameter."""
    keyword = parameter.name if parameter.kind == "keyword" else ""
    unused = [value for value in goal.values if not value.covered_ids & binding.used]
    fitting = [value for value in unused if compatibility(value.shape, parameter.type, parameter.name) >= _LEAST_FIT]
    found = [binding.add(keyword, value, gain=_fit_score(parameter, value, binding) - 1.5) for value in fitting]
    found = found or [binding.add(keyword, value, gain=-2.5, penalty=0.8) for value in unused]
    if "callable" in expected_kinds(parameter.type, parameter.name) or parameter.name == "key":
        found = [*(binding.add(keyword, function, gain=-0.2) for function in goal.callables), *found]
    return sorted(found, key=lambda option: -option.gain)[:5]


def _fit_score(parameter: Parameter, value: Value, binding: Binding) -> float:
    fit = compatibility(value.shape, parameter.type, parameter.name) + role_match(value, parameter.name)
    if value.id < 0:
        fit += 0.4 if value.id == -1 else 0.2
    if 0 <= value.start < binding.last:
        fit -= 0.15
    return fit + (0.3 if len(value.members) > 2 else 0.1 if value.members else 0.0)


def _add_optional(binding: Binding, parameters: Sequence[Parameter], goal: Goal) -> Binding:
    positional = {parameter.name for parameter in parameters if parameter.kind == "positional"}
    for parameter in parameters:
        if parameter.kind == "varargs":
            # Nothing positional may follow what was passed by keyword although it stands before.
            by_keyword = any(keyword in positional for keyword, _ in binding.arguments)
            for value in [] if by_keyword else _variadic_values(parameter, binding, goal):
                binding = binding.add("", value)
        elif not parameter.required and parameter.kind != "varkeywords":
            argument = _optional_argument(parameter, binding, goal)
            binding = binding.add(parameter.name, argument[0], gain=argument[1]) if argument else binding
    return binding


def _variadic_values(parameter: Parameter, binding: Binding, goal: Goal) -> list[Value]:
    """Return the unused values of one kind for `*args`: members rather than their group."""
    unused = [
        value
        for value in goal.values
        if not (value.covered_ids & binding.used or value.id < 0 or value.name or value.members)
        and compatibility(value.shape, parameter.type, parameter.name.rstrip("s")) > -0.5
    ]
    if not unused:
        return [value for value in goal.values if value.id == -1 and not binding.arguments]
    alike = [value for value in unused if kinds_of(value.shape) == kinds_of(unused[0].shape)]
    return sorted(alike, key=lambda value: value.start)


def _optional_argument(parameter: Parameter, binding: Binding, goal: Goal) -> tuple[Value | str, float] | None:
    """Return the argument of an optional parameter, if any, and its gain: a value by role, a flag, or a function."""
    name = parameter.name
    unused = [value for value in goal.values if not value.covered_ids & binding.used and value.id >= 0]
    scored = [(role_match(value, name), compatibility(value.shape, parameter.type, name), value) for value in unused]
    scored = [item for item in scored if item[0] >= 0.6 and item[1] >= _LEAST_FIT]
    if scored:
        role, _, value = max(scored, key=lambda item: item[0] + item[1])
        return value, role
    is_flag = parameter.default == "False"
    if is_flag and any(similarity(word, part) >= 0.75 for word in goal.words for part in name_stems(name)):
        return "True", 0.5
    takes_attribute = "str" in parameter.type and re.search(r"attribute|\bkey\b|column|field", parameter.text)
    is_named = any(similarity(word, stem(name.lower())) >= 0.75 for word in goal.words)
    if parameter.default == "None" and takes_attribute and is_named:
        return repr(name), 0.3
    if name in ("key", "func", "function", "default_factory") and goal.callables:
        return goal.callables[0], 0.5
    return None


# Conversions of a result that a task's wording requests: plain Python, without knowledge of any library.

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
