"""What candidates show of their results, whether it is informative, and which show the same result or failure.

Printed output counts first, then the values of changed names. Two values are the same if they are equal, with numbers
compared as numbers; two texts are the same if most of their facts are the same in the same order, and no name has
values of different kinds. A few small numbers may be equal by coincidence, so they must not be named differently.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.types import Experience, Observation
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic

_FACT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|'[^'\n]*'|\"[^\"\n]*\"|\b(?:True|False)\b")
"""A quotation ends on its line, so that an apostrophe in prose does not start one that spans lines."""
_STATES: Final = re.compile(
    r"(?:->|=>|→|==|\b(?:is|are|be|equals?|gives?|returns?|yields?|prints?|shows?|results? in|expected)\b:?)"
    r"\s*(?:exactly\s+|about\s+)?`?(?P<value>[-\[({'\"\d][^\n;`]{0,200})"
)
_NEXT: Final = re.compile(r"\. |,? (?:and|but|where|when|if|for|with|which|because|so)\b")
_MOST_FACTS = 400
_FEW_FACTS = 2
_SMALL = 1000
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GENERIC = frozenset(
    "the and for with value result answer output number count total size length len type int float list dict".split()  # noqa: SIM905
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_TYPE = re.compile(r"[A-Za-z_][\w.]*:? ")
_NO_ROWS = re.compile(r"Empty DataFrame\s+Columns: [^\n]*\s+Index: \[[^\n]*")
_NOTHING = re.compile(
    r"(?:[A-Za-z_][\w.]*:? )?(?:None|nan|empty|\[\]|\{\}|\(\)|''|\"\"|\w+\(\)|\w+\(\[\].*\)|<module .*>)|module: .*"
)
_EMPTY = re.compile(r"\b0 (?:nodes|rows|items|values)\b|, empty$")
_NO_DATA = ("module", "type", "ABCMeta", "EnumType", "function", "builtin_function_or_method", "method", "NoneType")
_KINDS = {"int": "number", "float": "number", "complex": "number", "tuple": "sequence", "list": "sequence"}


@heuristic("comparing outputs", lambda one, other: False)
def outputs_agree(one: Experience, other: Experience) -> bool:
    """Whether both ran and show the same result.

    What one printed and the other bound to a name can be the same; an empty result counts as none.
    """
    if not (one.observation.ran and other.observation.ran):
        return False
    left, right = result_text(one.observation), result_text(other.observation)
    if not (is_informative(left) and is_informative(right)):
        return False
    kinds, other_kinds = _kinds(one.observation), _kinds(other.observation)
    if any(kinds[name] != other_kinds[name] for name in kinds.keys() & other_kinds.keys()):
        return False
    facts, other_facts = find_facts(left), find_facts(right)
    all_facts = {*facts, *other_facts}
    small = all(isinstance(fact, float) and fact.is_integer() and abs(fact) < _SMALL for fact in all_facts)
    if small and len(all_facts) <= _FEW_FACTS:  # two quantities may have these numbers in common
        names, others = _quantity_words(one.observation), _quantity_words(other.observation)
        if names and others and not names & others:
            return False
    values = _value(left), _value(right)
    if None not in values:
        return values[0] == values[1]
    if strip_addresses(left).split() == strip_addresses(right).split():
        return True
    data, other_data = set(kinds.values()) - {""}, set(other_kinds.values()) - {""}
    if data and other_data and not data & other_data:
        return False
    blocks = SequenceMatcher(None, facts, other_facts, autojunk=False).get_matching_blocks()
    # Measured against the longer list: one fact does not agree with every richer output.
    return sum(block.size for block in blocks) * 2 > max(len(facts), len(other_facts))


def distinct_failures(experiences: Sequence[Experience]) -> list[Experience]:
    """Return one experience per kind of failure, the one with the shortest code, so that each kind is repaired once."""
    by_kind: dict[str, Experience] = {}
    for item in sorted(experiences, key=lambda item: len(item.candidate.code)):
        by_kind.setdefault(failure_kind(item), item)
    return list(by_kind.values())


@heuristic("comparing failures", lambda item: item.observation.status)
def failure_kind(item: Experience) -> str:
    """Return the kind of a failure: status and first line of the error."""
    error = item.observation.error
    return strip_addresses(f"{item.observation.status} {error.headline if error else ''}".strip())


@heuristic("judging how informative an output is", lambda text: bool(text.strip()))
def is_informative(text: str) -> bool:
    """Whether the text shows more than `None`, modules and empty values."""
    plain = _NO_ROWS.sub("[]", strip_addresses(text)).strip()
    heads = [line.strip() for line in plain.splitlines() if line.strip() and not line.startswith(" ")]
    return any(not _NOTHING.fullmatch(head) and not _EMPTY.search(head) for head in heads)


def strip_addresses(text: str) -> str:
    """Remove object addresses, so that two runs of the same code read alike."""
    return _ADDRESS.sub("", text)


@heuristic("choosing what an output shows", lambda observation: observation.text)
def result_text(observation: Observation) -> str:
    """Return what the observation shows of the results: informative output, else the summaries of changed names."""
    if is_informative(observation.text):
        return observation.text
    data = [change for change in observation.changes if _kind(change.type)]
    return "\n".join(change.summary for change in data if change.summary)


def _quantity_words(observation: Observation) -> frozenset[str]:
    """Return the words that are printed beside the values, or else the words in the names that were bound."""
    text = observation.text if is_informative(observation.text) else ""
    bound = " ".join(change.name for change in observation.changes if _kind(change.type))
    found = [[word.lower().rstrip("s") for word in _NAME_PART.findall(one)] for one in (_FACT.sub(" ", text), bound)]
    plain = [frozenset(word for word in words if len(word) > 2 and word not in _GENERIC) for words in found]
    return plain[0] or plain[1]


@heuristic("comparing outputs", lambda text: [])
def find_facts(text: str) -> list[object]:
    """Return numbers, quoted strings and truth values, in order."""
    found: list[object] = []
    for match in islice(_FACT.finditer(strip_addresses(text)), _MOST_FACTS):
        item = match.group()
        value = float(item) if item[0] in "-0123456789" else _literal(item)
        found.append(item[1:-1] if value is None else value)
    return found


def stated_facts(text: str) -> list[object]:
    """Return the facts that the text gives as results: `is 42`, `returns "a"`, `-> [1, 2]`."""
    found = (find_facts(_NEXT.split(match["value"])[0]) for match in _STATES.finditer(text))
    return [fact for facts in found for fact in facts]


def _value(text: str) -> object:
    """Return the value that the text is a literal of, perhaps after a type, or that a summary shows; else `None`."""
    text = text.strip()
    literals = [text]
    if type_ := _TYPE.match(text):
        literals.append(text[type_.end() :])
    head, _, rest = text.partition("\n")
    if re.match(r"(?:list|tuple|set|dict): \d+ items?", head):
        line = rest.partition("\n")[0].strip()
        literals.append(f"{{{line}}}" if head.startswith("dict") else line)
    return next((value for value in map(_literal, literals) if value is not None), None)


def _literal(text: str) -> object:
    """Return the normalized value that the text is a literal of; `None` if it is none."""
    try:
        return _normalize_value(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError):
        return None


def _normalize_value(value: object) -> object:
    """Return an object that is equal for values that a person would call the same."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (int, float)):
        return float(f"{value:.9g}")
    if isinstance(value, (list, tuple)):
        return tuple(_normalize_value(item) for item in value)
    if isinstance(value, set):
        return frozenset(_normalize_value(item) for item in value)
    if isinstance(value, dict):
        return frozenset((_normalize_value(key), _normalize_value(item)) for key, item in value.items())
    return value


def _kinds(observation: Observation) -> Mapping[str, str]:
    types = {**dict(observation.names), **{change.name: change.type for change in observation.changes}}
    return {name: _kind(type_) for name, type_ in types.items()}


def _kind(type_: str) -> str:
    """Return the kind of values of a type; empty for types that are not data."""
    last = type_.rpartition(".")[2]
    if last in _NO_DATA:
        return ""
    return "number" if type_.startswith("numpy.") and last[-1:].isdigit() else _KINDS.get(last, last)
