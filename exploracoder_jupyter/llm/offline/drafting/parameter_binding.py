"""Calls from signatures: parameters bound to the values at hand, by name, role, documented type and order.

`bindings` enumerates ways to fill a parameter list, best first. A required parameter that nothing fits rules a call
out; an optional one is only given what a role or the documentation ties to it.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import Parameter, parameters
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.value_kinds import compatible, kinds_of, wanted_kinds
from exploracoder_jupyter.llm.offline.inputs.word_matching import (
    STOP,
    abbreviates,
    best_likeness,
    likeness,
    parts,
    stem,
)

_DECAY = (1.0, 0.85, 0.7, 0.5, 0.4, 0.3)
_PREPOSITION_NAMES = {
    "from": "source src start begin lo low lower first a u from_ frm since unit_from",
    "to": "target dst dest stop end hi high upper last b v to_ until unit_to",
    "by": "by step k n amount offset",
    "with": "with_ other right second b",
    "of": "n k size",
    "into": "n k sections",
    "at": "at index position pos",
    "between": "a left first s1",
}
_PREPOSITIONS = {word: frozenset(names.split()) for word, names in _PREPOSITION_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Binding:
    """One way to fill a parameter list."""

    arguments: tuple[str, ...]
    """The arguments as code, in order, keywords as `name=value`."""
    used: frozenset[int]
    gain: float
    """Higher is better."""
    debt: float = 0.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a call can draw on."""

    values: tuple[Value, ...]
    """Literals of the task and variables of the state, the latest variable first."""
    words: tuple[str, ...]
    """Stemmed words of the clause, stop words left out."""
    text: str = ""
    """The clause."""
    callables: tuple[str, ...] = ()
    """Functions that the clause describes, as code: `len`, `lambda x: x % 2 == 0`."""
    reserved: frozenset[str] = frozenset()
    """Names of variables that are taken."""


@dataclass(order=True)
class _Partial:
    cost: float
    number: int
    index: int = field(compare=False)
    chosen: tuple[tuple[Parameter, Value, str], ...] = field(compare=False, default=())
    used: frozenset[int] = field(compare=False, default=frozenset())
    debt: float = field(compare=False, default=0.0)


def role_match(value: Value, name: str) -> float:
    """How strongly the words around a value tie it to a parameter of this name; about 0 to 3."""
    if value.given:
        if value.given == name:
            return 3.0
        return 2.2 if value.given.lower() == name.lower() else best_likeness(stem(value.given), parts(name))
    best = 0.0
    for role, decay in zip(value.roles, _DECAY, strict=False):
        if name.lower() in _PREPOSITIONS.get(role, ()):
            best = max(best, 1.2 * decay)
        elif role not in _PREPOSITIONS:
            best = max(best, 1.4 * decay * _part_likeness(role, name))
    return best


def _part_likeness(role: str, name: str) -> float:
    found = best_likeness(role, parts(name))
    if found < 0.5 and any(
        abbreviates(part[-size:], role) for part in parts(name) for size in (3, 4) if len(part) >= size
    ):
        found = 0.5
    return found


def bindings(api: ApiDoc, around: Surroundings, *, most: int = 4) -> list[Binding]:
    """Up to `most` ways to call the API, best first; none when a required parameter stays empty."""
    wanted = parameters(api)
    required = [p for p in wanted if p.required]
    found: list[Binding] = []
    queue = [_Partial(0.0, 0, 0)]
    count = 0
    while queue and len(found) < most and count < 400:
        partial = heapq.heappop(queue)
        if partial.index == len(required):
            found.append(_finished(partial, api, around))
            if not required and not found[-1].used:
                found.extend(_by_first_optional(api, around))
            continue
        for cost, value, code, debt in _options(required[partial.index], partial, around):
            count += 1
            chosen = (*partial.chosen, (required[partial.index], value, code))
            heapq.heappush(
                queue,
                _Partial(
                    partial.cost + cost,
                    count,
                    partial.index + 1,
                    chosen,
                    partial.used | value.covers,
                    partial.debt + debt,
                ),
            )
    best = max((binding.gain for binding in found), default=0.0)
    return [replace(b, debt=b.debt + 0.4 * (best - b.gain) + max(0.0, 0.3 - 0.15 * b.gain)) for b in found]


def _by_first_optional(api: ApiDoc, around: Surroundings) -> list[Binding]:
    """A call that could do without arguments, with the first value that its first parameter may take."""
    first = next((p for p in parameters(api) if p.kind == "positional"), None)
    fitting = [v for v in around.values if first and compatible(v.shape, first.type, first.name) >= 0]
    best = max(fitting, key=lambda v: (len(v.members) > 2, v.id == -1, -v.start), default=None)
    return [Binding((best.code,), best.covers, 0.5)] if best else []


def _options(parameter: Parameter, partial: _Partial, around: Surroundings) -> list[tuple[float, Value, str, float]]:
    """The ways to fill one parameter as (cost, value, code, debt), best first."""
    found = [
        (1.5 - _fit(parameter, value, partial), value, value.code, 0.0)
        for value in around.values
        if not value.covers & partial.used and compatible(value.shape, parameter.type, parameter.name) >= -0.2
    ]
    if not found:
        found = [(2.5, value, *_forced(parameter, value)) for value in around.values if not value.covers & partial.used]
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
        made = [Value(-100 - i, code, "callable") for i, code in enumerate(around.callables)]
        found = [*((0.2, value, value.code, 0.0) for value in made), *found]
    return sorted(found, key=lambda option: option[0])[:5]


def _forced(parameter: Parameter, value: Value) -> tuple[str, float]:
    """A value in spite of its kind; a scalar where a sequence is wanted is nested as deep as the documentation says."""
    if kinds_of(value.shape) & {"number", "text"} and "sequence" in wanted_kinds(parameter.type, parameter.name):
        deep = 2 if re.search(r"2-?d|\(\w+, \w+\)|matrix", f"{parameter.type} {parameter.text}".lower()) else 1
        return "[" * deep + value.code + "]" * deep, 0.3
    return value.code, 0.8


def _fit(parameter: Parameter, value: Value, partial: _Partial) -> float:
    fit = compatible(value.shape, parameter.type, parameter.name) + role_match(value, parameter.name)
    if value.id < 0:
        fit += 0.4 if value.id == -1 else 0.2
    earlier = [item.start for _, item, _ in partial.chosen if item.start >= 0]
    if value.start >= 0 and any(start > value.start for start in earlier):
        fit -= 0.15
    return fit + (0.3 if len(value.members) > 2 else 0.1 if value.members else 0.0)


def _finished(partial: _Partial, api: ApiDoc, around: Surroundings) -> Binding:
    """The call with what optional parameters are tied to."""
    wanted = parameters(api)
    given = {parameter.name: code for parameter, _, code in partial.chosen}
    used = partial.used
    gain = -partial.cost
    splat: list[str] = []
    for parameter in wanted:
        if parameter.kind == "varargs":
            values = _rest(parameter, used, around, first=partial.chosen)
            splat = [value.code for value in values]
            used = used.union(*(value.covers for value in values))
        elif parameter.kind == "varkeywords":
            extra = _named(used, around)
            given |= {value.given or value.unit: value.code for value in extra}
            used = used.union(*(value.covers for value in extra))
        elif not parameter.required:
            code, covers, bonus = _optional(parameter, api, used, around)
            if code:
                given[parameter.name] = code
                used |= covers
                gain += bonus
    return Binding(_arguments(wanted, given, splat), frozenset(i for i in used if i > -100), gain, partial.debt)


def _rest(
    parameter: Parameter, used: frozenset[int], around: Surroundings, *, first: Sequence[tuple[Parameter, Value, str]]
) -> list[Value]:
    """The unused values of one kind, members rather than their group, for `*args`."""
    free = [v for v in around.values if not v.covers & used and v.id >= 0 and not v.given]
    free = [v for v in free if not v.members and compatible(v.shape, parameter.type, parameter.name.rstrip("s")) > -0.5]
    if not free and not first:
        return [v for v in around.values if v.id == -1][:1]
    kinds = [kinds_of(v.shape) for v in free]
    return sorted((v for v, kind in zip(free, kinds, strict=True) if kind == kinds[0]), key=lambda v: v.start)


def _named(used: frozenset[int], around: Surroundings) -> list[Value]:
    return [v for v in around.values if v.id >= 0 and (v.given or v.unit) and not v.covers & used]


def _optional(
    parameter: Parameter, api: ApiDoc, used: frozenset[int], around: Surroundings
) -> tuple[str, frozenset[int], float]:
    """What an optional parameter gets, if anything: a value by its role, a documented option, a switch."""
    free = [v for v in around.values if not v.covers & used and v.id >= 0]
    scored = [(role_match(v, parameter.name), compatible(v.shape, parameter.type, parameter.name), v) for v in free]
    scored = [item for item in scored if item[0] >= 0.6 and item[1] >= -0.2 and _like_default(item[2], parameter)]
    if scored:
        best = max(scored, key=lambda item: item[0] + item[1])
        return best[2].code, best[2].covers, best[0]
    option = _option(parameter, api, around)
    if option:
        return option, frozenset(), 0.8
    if parameter.default == "False" and any(
        likeness(w, p) >= 0.75 for w in around.words for p in parts(parameter.name)
    ):
        return "True", frozenset(), 0.5
    if (
        parameter.default == "None"
        and _by_attribute(parameter)
        and any(likeness(w, stem(parameter.name)) >= 0.75 for w in around.words)
    ):
        return repr(parameter.name), frozenset(), 0.3
    if parameter.name in ("key", "func", "function", "default_factory") and around.callables:
        return around.callables[0], frozenset(), 0.5
    return "", frozenset(), 0.0


def _by_attribute(parameter: Parameter) -> bool:
    """Whether a parameter takes the name of an attribute, key or column."""
    return "str" in parameter.type and bool(re.search(r"attribute|\bkey\b|column|field", parameter.text))


def _like_default(value: Value, parameter: Parameter) -> bool:
    """Whether the default, where it is a literal, is of the value's kind."""
    if parameter.default in ("", "None") or not re.match(r"[-\d'\"\[({]|True|False", parameter.default):
        return True
    text = parameter.default[0] in "'\""
    return text == (value.shape == "str") and parameter.default not in ("True", "False")


def _option(parameter: Parameter, api: ApiDoc, around: Surroundings) -> str:
    """A word of the clause that the documentation quotes as a setting, or that the clause ties to the parameter."""
    if parameter.default and parameter.default[0] not in "'\"N":
        return ""
    quoted = set(re.findall(r"['\"`]+([A-Za-z][\w-]{2,})['\"`]+", f"{parameter.type} {parameter.text}"))
    quoted |= set(re.findall(rf"\b{parameter.name}\s*=\s*['\"]([\w-]+)['\"]", api.description))
    spoken = {word.lower() for word in re.findall(r"[A-Za-z][\w-]+", around.text)}
    for option in sorted(quoted):
        if option.lower() in spoken and option not in ("None", "True", "False") and repr(option) != parameter.default:
            return repr(option)
    return _spoken_option(parameter, api, around) if parameter.default else ""


def _spoken_option(parameter: Parameter, api: ApiDoc, around: Surroundings) -> str:
    """The word before one that names the parameter, and no other parameter better, as in `in github format`."""
    if parameter.default[0] not in "'\"" and "str" not in parameter.type:
        return ""
    words = re.findall(r"[A-Za-z][\w-]*", around.text)
    for before, word in pairwise(words):
        if before.lower() in STOP or word.lower() in STOP or word.lower() in _PREPOSITIONS or before == words[0]:
            continue
        fit = _naming(word, parameter.name, around)
        if fit >= 0.5 and all(fit >= _naming(word, p.name, around) for p in parameters(api)):
            return repr(before)
    return ""


def _naming(word: str, name: str, around: Surroundings) -> float:
    """How well a word names a parameter; other words of the clause in the name count too."""
    others = [other for other in around.words if len(other) >= 4 and name.lower().startswith(other[:4])]
    return _part_likeness(stem(word), name) + (0.2 if others else 0.0)


def _arguments(wanted: Sequence[Parameter], given: dict[str, str], splat: Sequence[str]) -> tuple[str, ...]:
    arguments: list[str] = []
    gap = False
    for parameter in wanted:
        if parameter.kind == "varargs":
            arguments.extend(splat)
            gap = True
        elif parameter.kind in ("positional", "keyword") and parameter.name in given:
            positional = parameter.kind == "positional" and parameter.required and not gap
            arguments.append(given[parameter.name] if positional else f"{parameter.name}={given[parameter.name]}")
    known = {parameter.name for parameter in wanted}
    return (*arguments, *(f"{name}={code}" for name, code in given.items() if name not in known))
