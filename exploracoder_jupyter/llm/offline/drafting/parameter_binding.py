"""Drafts calls from signatures: parameters are bound to the available values by name, role, documented type and order.

`bind_parameters` enumerates ways to fill a parameter list, best first. A call is ruled out if no value fits a required
parameter; an optional one is only passed what a role or the documentation associates with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import Parameter, parse_parameters
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.value_kinds import compatibility, expected_kinds, kinds_of
from exploracoder_jupyter.llm.offline.inputs.word_matching import (
    best_similarity,
    is_abbreviation,
    name_stems,
    similarity,
)
from exploracoder_jupyter.text.tokenizer import stem

_BEAM_WIDTH = 12
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
    """One way to fill a parameter list."""

    arguments: tuple[str, ...]
    """The arguments as code, in order, keywords as `name=value`."""
    used: frozenset[int]
    gain: float
    penalty: float = 0.0


@dataclass(frozen=True, slots=True)
class CallContext:
    """The values and words that a call can use."""

    values: tuple[Value, ...]
    """Literals of the task and variables of the state, the latest variable first."""
    words: tuple[str, ...]
    """Stemmed words of the clause, without stop words."""
    text: str = ""
    callables: tuple[str, ...] = ()
    """Functions that the clause describes, as code: `len`, `lambda x: x % 2 == 0`."""
    reserved: frozenset[str] = frozenset()
    """Names of variables that are already used."""


@dataclass(frozen=True, slots=True)
class _PartialBinding:
    cost: float = 0.0
    chosen: tuple[tuple[Parameter, Value], ...] = ()
    used: frozenset[int] = frozenset()
    penalty: float = 0.0


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
            score = max(score, 1.4 * weight * _name_similarity(role, name))
    return score


def _name_similarity(role: str, name: str) -> float:
    if len(name) == 1:
        return 0.5 * (role[0] == name.lower())
    score = best_similarity(role, name_stems(name))
    if score < 0.5 and any(
        is_abbreviation(part[-size:], role) for part in name_stems(name) for size in (3, 4) if len(part) >= size
    ):
        score = 0.5
    return score


def bind_parameters(api: ApiDoc, context: CallContext, *, limit: int = 4) -> list[Binding]:
    """Return up to `limit` ways to call the API, best first; none if no value fits a required parameter."""
    beam = [_PartialBinding()]
    for parameter in parse_parameters(api):
        if parameter.required:
            extended = (option for partial in beam for option in _options(parameter, partial, context))
            beam = sorted(extended, key=lambda partial: partial.cost)[:_BEAM_WIDTH]
    found = [_finish(partial, api, context) for partial in beam[:limit]]
    best = max((binding.gain for binding in found), default=0.0)
    found = [
        replace(binding, penalty=binding.penalty + 0.4 * (best - binding.gain) + max(0.0, 0.3 - 0.15 * binding.gain))
        for binding in found
    ]
    known = {binding.arguments for binding in found}
    return [*found, *(binding for binding in _bind_in_order(api, context) if binding.arguments not in known)]


def _bind_in_order(api: ApiDoc, context: CallContext) -> list[Binding]:
    """Pass the first value, or all values, in the order of the text to parameters that may stay unused."""
    parameters = [item for item in parse_parameters(api) if item.kind == "positional"]
    required = sum(item.required for item in parameters)
    values = sorted(context.values, key=lambda value: value.start)
    inner = frozenset[int]().union(*(value.members for value in values))
    outer, singles = [v for v in values if v.id not in inner], [v for v in values if not v.members]
    found: dict[tuple[str, ...], Binding] = {}
    for chosen in (outer[:1], outer, singles):
        fits = [compatibility(v.shape, p.type, p.name) for v, p in zip(chosen, parameters, strict=False)]
        if required < len(chosen) == len(fits) and min(fits) >= -0.2:
            used = frozenset[int]().union(*(value.covered_ids for value in chosen))
            binding = Binding(tuple(value.code for value in chosen), used, 0.5, 0.225)
            found.setdefault(binding.arguments, binding)
    return list(found.values())


def _options(parameter: Parameter, partial: _PartialBinding, context: CallContext) -> list[_PartialBinding]:
    """Return the partial binding extended by each of the best ways to fill one more parameter."""
    unused = [value for value in context.values if not value.covered_ids & partial.used]
    found = [
        (1.5 - _fit_score(parameter, value, partial), value, 0.0)
        for value in unused
        if compatibility(value.shape, parameter.type, parameter.name) >= -0.2
    ] or [(2.5, value, 0.8) for value in unused]
    if "callable" in expected_kinds(parameter.type, parameter.name) or parameter.name == "key":
        functions = [Value(-100 - i, code, "callable") for i, code in enumerate(context.callables)]
        found = [*((0.2, value, 0.0) for value in functions), *found]
    return [
        _PartialBinding(
            partial.cost + cost,
            (*partial.chosen, (parameter, value)),
            partial.used | value.covered_ids,
            partial.penalty + penalty,
        )
        for cost, value, penalty in sorted(found, key=lambda option: option[0])[:5]
    ]


def _fit_score(parameter: Parameter, value: Value, partial: _PartialBinding) -> float:
    fit = compatibility(value.shape, parameter.type, parameter.name) + role_match(value, parameter.name)
    if value.id < 0:
        fit += 0.4 if value.id == -1 else 0.2
    if value.start >= 0 and any(item.start > value.start for _, item in partial.chosen):
        fit -= 0.15
    return fit + (0.3 if len(value.members) > 2 else 0.1 if value.members else 0.0)


def _finish(partial: _PartialBinding, api: ApiDoc, context: CallContext) -> Binding:
    parameters = parse_parameters(api)
    arguments = {parameter.name: value.code for parameter, value in partial.chosen}
    used = partial.used
    gain = -partial.cost
    variadic: list[str] = []
    for parameter in parameters:
        if parameter.kind == "varargs":
            values = _variadic_values(parameter, used, context, is_first=not partial.chosen)
            variadic = [value.code for value in values]
            used = used.union(*(value.covered_ids for value in values))
        elif not parameter.required and parameter.kind != "varkeywords":
            code, covered_ids, bonus = _optional_argument(parameter, used, context)
            if code:
                arguments[parameter.name] = code
                used |= covered_ids
                gain += bonus
    return Binding(
        _arguments(parameters, arguments, variadic), frozenset(i for i in used if i > -100), gain, partial.penalty
    )


def _variadic_values(
    parameter: Parameter, used: frozenset[int], context: CallContext, *, is_first: bool
) -> list[Value]:
    """Return the unused values of one kind for `*args`: members rather than their group."""
    unused = [
        value
        for value in context.values
        if not (value.covered_ids & used or value.id < 0 or value.name or value.members)
        and compatibility(value.shape, parameter.type, parameter.name.rstrip("s")) > -0.5
    ]
    if not unused:
        return [value for value in context.values if value.id == -1][:1] if is_first else []
    alike = [value for value in unused if kinds_of(value.shape) == kinds_of(unused[0].shape)]
    return sorted(alike, key=lambda value: value.start)


def _optional_argument(
    parameter: Parameter, used: frozenset[int], context: CallContext
) -> tuple[str, frozenset[int], float]:
    """Return the argument of an optional parameter, if any: a value by its role, a flag, or a function."""
    unused = [value for value in context.values if not value.covered_ids & used and value.id >= 0]
    scored = [
        (role_match(value, parameter.name), compatibility(value.shape, parameter.type, parameter.name), value)
        for value in unused
    ]
    scored = [item for item in scored if item[0] >= 0.6 and item[1] >= -0.2]
    if scored:
        best = max(scored, key=lambda item: item[0] + item[1])
        return best[2].code, best[2].covered_ids, best[0]
    if parameter.default == "False" and any(
        similarity(w, p) >= 0.75 for w in context.words for p in name_stems(parameter.name)
    ):
        return "True", frozenset(), 0.5
    takes_attribute = "str" in parameter.type and re.search(r"attribute|\bkey\b|column|field", parameter.text)
    name = stem(parameter.name.lower())
    if parameter.default == "None" and takes_attribute and any(similarity(w, name) >= 0.75 for w in context.words):
        return repr(parameter.name), frozenset(), 0.3
    if parameter.name in ("key", "func", "function", "default_factory") and context.callables:
        return context.callables[0], frozenset(), 0.5
    return "", frozenset(), 0.0


def _arguments(parameters: Sequence[Parameter], assigned: dict[str, str], variadic: Sequence[str]) -> tuple[str, ...]:
    arguments: list[str] = []
    after_variadic = False
    for parameter in parameters:
        if parameter.kind == "varargs":
            arguments.extend(variadic)
            after_variadic = True
        elif parameter.kind in ("positional", "keyword") and parameter.name in assigned:
            positional = parameter.kind == "positional" and parameter.required and not after_variadic
            arguments.append(assigned[parameter.name] if positional else f"{parameter.name}={assigned[parameter.name]}")
    return tuple(arguments)
