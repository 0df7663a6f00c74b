"""Drafts calls from signatures: parameters are bound to the available values by name, role, documented type and order.

`bind_parameters` enumerates ways to fill a parameter list, best first. A call is ruled out if no value fits a required
parameter; an optional one is only passed what a role or the documentation associates with it.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import Parameter, parse_parameters
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.value_kinds import compatibility, expected_kinds, kinds_of
from exploracoder_jupyter.llm.offline.inputs.word_matching import (
    STOP_WORDS,
    best_similarity,
    is_abbreviation,
    name_stems,
    similarity,
)
from exploracoder_jupyter.text.tokenizer import stem

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
    """Score; higher is better."""
    penalty: float = 0.0


@dataclass(frozen=True, slots=True)
class CallContext:
    """The values and words that a call can use."""

    values: tuple[Value, ...]
    """Literals of the task and variables of the state, the latest variable first."""
    words: tuple[str, ...]
    """Stemmed words of the clause, without stop words."""
    text: str = ""
    """The clause."""
    callables: tuple[str, ...] = ()
    """Functions that the clause describes, as code: `len`, `lambda x: x % 2 == 0`."""
    reserved: frozenset[str] = frozenset()
    """Names of variables that are already used."""


@dataclass(order=True)
class _PartialBinding:
    cost: float
    number: int
    index: int = field(compare=False)
    chosen: tuple[tuple[Parameter, Value, str], ...] = field(compare=False, default=())
    used: frozenset[int] = field(compare=False, default=frozenset())
    penalty: float = field(compare=False, default=0.0)


def role_match(value: Value, name: str) -> float:
    """Rate how strongly the words around a value indicate a parameter of this name, from 0 to about 3."""
    if value.name:
        if value.name == name:
            return 3.0
        return (
            2.2 if value.name.lower() == name.lower() else best_similarity(stem(value.name.lower()), name_stems(name))
        )
    score = 0.0
    for role, weight in zip(value.roles, _ROLE_WEIGHTS, strict=False):
        if name.lower() in _NAME_SETS_BY_PREPOSITION.get(role, ()):
            score = max(score, 1.2 * weight)
        elif role not in _NAME_SETS_BY_PREPOSITION:
            score = max(score, 1.4 * weight * _name_similarity(role, name))
    return score


def _name_similarity(role: str, name: str) -> float:
    score = best_similarity(role, name_stems(name))
    if score < 0.5 and any(
        is_abbreviation(part[-size:], role) for part in name_stems(name) for size in (3, 4) if len(part) >= size
    ):
        score = 0.5
    return score


def bind_parameters(api: ApiDoc, context: CallContext, *, limit: int = 4) -> list[Binding]:
    """Return up to `limit` ways to call the API, best first; none if no value fits a required parameter."""
    parameters = parse_parameters(api)
    required = [p for p in parameters if p.required]
    found: list[Binding] = []
    queue = [_PartialBinding(0.0, 0, 0)]
    count = 0
    while queue and len(found) < limit and count < 400:
        partial = heapq.heappop(queue)
        if partial.index == len(required):
            found.append(_finish(partial, api, context))
            if not required and not found[-1].used:
                found.extend(_bind_first_optional(api, context))
            continue
        for cost, value, code, penalty in _parameter_options(required[partial.index], partial, context):
            count += 1
            chosen = (*partial.chosen, (required[partial.index], value, code))
            heapq.heappush(
                queue,
                _PartialBinding(
                    partial.cost + cost,
                    count,
                    partial.index + 1,
                    chosen,
                    partial.used | value.covered_ids,
                    partial.penalty + penalty,
                ),
            )
    best = max((binding.gain for binding in found), default=0.0)
    return [
        replace(binding, penalty=binding.penalty + 0.4 * (best - binding.gain) + max(0.0, 0.3 - 0.15 * binding.gain))
        for binding in found
    ]


def _bind_first_optional(api: ApiDoc, context: CallContext) -> list[Binding]:
    """Bind the best value to the first parameter of a call that requires no arguments."""
    first = next((p for p in parse_parameters(api) if p.kind == "positional"), None)
    candidates = [
        value for value in context.values if first and compatibility(value.shape, first.type, first.name) >= 0
    ]
    best = max(candidates, key=lambda value: (len(value.members) > 2, value.id == -1, -value.start), default=None)
    return [Binding((best.code,), best.covered_ids, 0.5)] if best else []


def _parameter_options(
    parameter: Parameter, partial: _PartialBinding, context: CallContext
) -> list[tuple[float, Value, str, float]]:
    """Return the ways to fill one parameter as (cost, value, code, penalty), best first."""
    found = [
        (1.5 - _fit_score(parameter, value, partial), value, value.code, 0.0)
        for value in context.values
        if not value.covered_ids & partial.used and compatibility(value.shape, parameter.type, parameter.name) >= -0.2
    ]
    if not found:
        found = [
            (2.5, value, *_coerce(parameter, value)) for value in context.values if not value.covered_ids & partial.used
        ]
    if "callable" in parameter.type or parameter.name in (
        "func",
        "f",
        "key",
        "pred",
        "predicate",
        "function",
        "fn",
        "keyfunc",
    ):
        function_values = [Value(-100 - i, code, "callable") for i, code in enumerate(context.callables)]
        found = [*((0.2, value, value.code, 0.0) for value in function_values), *found]
    return sorted(found, key=lambda option: option[0])[:5]


def _coerce(parameter: Parameter, value: Value) -> tuple[str, float]:
    """Pass a value of another kind; a scalar for a sequence is nested as deep as the documentation says."""
    if kinds_of(value.shape) & {"number", "text"} and "sequence" in expected_kinds(parameter.type, parameter.name):
        depth = 2 if re.search(r"2-?d|\(\w+, \w+\)|matrix", f"{parameter.type} {parameter.text}".lower()) else 1
        return "[" * depth + value.code + "]" * depth, 0.3
    return value.code, 0.8


def _fit_score(parameter: Parameter, value: Value, partial: _PartialBinding) -> float:
    fit = compatibility(value.shape, parameter.type, parameter.name) + role_match(value, parameter.name)
    if value.id < 0:
        fit += 0.4 if value.id == -1 else 0.2
    chosen_starts = [item.start for _, item, _ in partial.chosen if item.start >= 0]
    if value.start >= 0 and any(start > value.start for start in chosen_starts):
        fit -= 0.15
    return fit + (0.3 if len(value.members) > 2 else 0.1 if value.members else 0.0)


def _finish(partial: _PartialBinding, api: ApiDoc, context: CallContext) -> Binding:
    """Complete the call with the optional parameters that have a fitting value."""
    parameters = parse_parameters(api)
    arguments = {parameter.name: code for parameter, _, code in partial.chosen}
    used = partial.used
    gain = -partial.cost
    variadic: list[str] = []
    for parameter in parameters:
        if parameter.kind == "varargs":
            values = _variadic_values(parameter, used, context, first=partial.chosen)
            variadic = [value.code for value in values]
            used = used.union(*(value.covered_ids for value in values))
        elif parameter.kind == "varkeywords":
            extra_keywords = _keyword_values(used, context)
            arguments |= {value.name or value.unit: value.code for value in extra_keywords}
            used = used.union(*(value.covered_ids for value in extra_keywords))
        elif not parameter.required:
            code, covered_ids, bonus = _optional_argument(parameter, api, used, context)
            if code:
                arguments[parameter.name] = code
                used |= covered_ids
                gain += bonus
    return Binding(
        _arguments(parameters, arguments, variadic), frozenset(i for i in used if i > -100), gain, partial.penalty
    )


def _variadic_values(
    parameter: Parameter, used: frozenset[int], context: CallContext, *, first: Sequence[tuple[Parameter, Value, str]]
) -> list[Value]:
    """Return the unused values of one kind for `*args`: members rather than their group."""
    unused = [value for value in context.values if not value.covered_ids & used and value.id >= 0 and not value.name]
    unused = [
        value
        for value in unused
        if not value.members and compatibility(value.shape, parameter.type, parameter.name.rstrip("s")) > -0.5
    ]
    if not unused and not first:
        return [value for value in context.values if value.id == -1][:1]
    kinds = [kinds_of(value.shape) for value in unused]
    return sorted(
        (value for value, kind in zip(unused, kinds, strict=True) if kind == kinds[0]), key=lambda value: value.start
    )


def _keyword_values(used: frozenset[int], context: CallContext) -> list[Value]:
    return [
        value
        for value in context.values
        if value.id >= 0 and (value.name or value.unit) and not value.covered_ids & used
    ]


def _optional_argument(
    parameter: Parameter, api: ApiDoc, used: frozenset[int], context: CallContext
) -> tuple[str, frozenset[int], float]:
    """Return the argument of an optional parameter, if any: a value by its role, a documented option, or a flag."""
    unused = [value for value in context.values if not value.covered_ids & used and value.id >= 0]
    scored = [
        (role_match(value, parameter.name), compatibility(value.shape, parameter.type, parameter.name), value)
        for value in unused
    ]
    scored = [item for item in scored if item[0] >= 0.6 and item[1] >= -0.2 and _matches_default(item[2], parameter)]
    if scored:
        best = max(scored, key=lambda item: item[0] + item[1])
        return best[2].code, best[2].covered_ids, best[0]
    option = _documented_option(parameter, api, context)
    if option:
        return option, frozenset(), 0.8
    if parameter.default == "False" and any(
        similarity(w, p) >= 0.75 for w in context.words for p in name_stems(parameter.name)
    ):
        return "True", frozenset(), 0.5
    if (
        parameter.default == "None"
        and _takes_attribute_name(parameter)
        and any(similarity(w, stem(parameter.name.lower())) >= 0.75 for w in context.words)
    ):
        return repr(parameter.name), frozenset(), 0.3
    if parameter.name in ("key", "func", "function", "default_factory") and context.callables:
        return context.callables[0], frozenset(), 0.5
    return "", frozenset(), 0.0


def _takes_attribute_name(parameter: Parameter) -> bool:
    """Return whether a parameter takes the name of an attribute, key or column."""
    return "str" in parameter.type and bool(re.search(r"attribute|\bkey\b|column|field", parameter.text))


def _matches_default(value: Value, parameter: Parameter) -> bool:
    """Return whether the default, if it is a literal, is of the value's kind."""
    if parameter.default in ("", "None") or not re.match(r"[-\d'\"\[({]|True|False", parameter.default):
        return True
    text = parameter.default[0] in "'\""
    return text == (value.shape == "str") and parameter.default not in ("True", "False")


def _documented_option(parameter: Parameter, api: ApiDoc, context: CallContext) -> str:
    """Return a word of the clause that the documentation quotes as an option, or that precedes the parameter's name."""
    if parameter.default and parameter.default[0] not in "'\"N":
        return ""
    options = set(re.findall(r"['\"`]+([A-Za-z][\w-]{2,})['\"`]+", f"{parameter.type} {parameter.text}"))
    options |= set(re.findall(rf"\b{parameter.name}\s*=\s*['\"]([\w-]+)['\"]", api.description))
    clause_words = {word.lower() for word in re.findall(r"[A-Za-z][\w-]+", context.text)}
    for option in sorted(options):
        if (
            option.lower() in clause_words
            and option not in ("None", "True", "False")
            and repr(option) != parameter.default
        ):
            return repr(option)
    return _option_before_name(parameter, api, context) if parameter.default else ""


def _option_before_name(parameter: Parameter, api: ApiDoc, context: CallContext) -> str:
    """Return the word before one that names this parameter better than any other, as in `in github format`."""
    if parameter.default[0] not in "'\"" and "str" not in parameter.type:
        return ""
    words = re.findall(r"[A-Za-z][\w-]*", context.text)
    for before, word in pairwise(words):
        if (
            before.lower() in STOP_WORDS
            or word.lower() in STOP_WORDS
            or word.lower() in _NAME_SETS_BY_PREPOSITION
            or before == words[0]
        ):
            continue
        fit = _naming_score(word, parameter.name, context)
        if fit >= 0.5 and all(fit >= _naming_score(word, p.name, context) for p in parse_parameters(api)):
            return repr(before)
    return ""


def _naming_score(word: str, name: str, context: CallContext) -> float:
    """Rate how well a word names a parameter; other words of the clause in the name count too."""
    matching_words = [other for other in context.words if len(other) >= 4 and name.lower().startswith(other[:4])]
    return _name_similarity(stem(word.lower()), name) + (0.2 if matching_words else 0.0)


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
    parameter_names = {parameter.name for parameter in parameters}
    return (*arguments, *(f"{name}={code}" for name, code in assigned.items() if name not in parameter_names))
