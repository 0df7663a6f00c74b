"""Suggests documented APIs with names similar to one that an error reports as missing ("did you mean").

Suggestions that the sibling found in its namespace come first and are kept; the index adds APIs from elsewhere in the
libraries, such as a function that was mistaken for a method. An undefined name can only stand for what can be imported,
and most are variables, so it must nearly have the name of a function or a class. Only names are compared; the model is
not asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

from exploracoder_jupyter.core.types import ApiDoc, ErrorInfo, Observation
from exploracoder_jupyter.kernel_agent.reporting.name_similarity import most_similar
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.step_context import Run

_MOST_MORE = 3
_MOST_NAMES = 12
_LONGEST_SIGNATURE = 160
_LONGEST_SUMMARY = 100
_IMPORTABLE = ("function", "class", "module")
_LEAST_MISSPELLED = 4
"""Characters of an undefined name from which on it may be a misspelling: `df` is a variable, whatever is called `f`."""

_NAME = r"'([A-Za-z_][\w.]*)'"
_FORMS = {
    "AttributeError": re.compile(rf"(?:{_NAME} object|module {_NAME}|type object {_NAME}) has no attribute {_NAME}"),
    "NameError": re.compile(rf"name {_NAME} is not defined"),
    "ImportError": re.compile(rf"cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"),
    "ModuleNotFoundError": re.compile(rf"No module named {_NAME}"),
    "TypeError": re.compile(r"([A-Za-z_][\w.]*)\(\) (?:got|missing|takes) "),
}


class _Missing(NamedTuple):
    name: str
    owner: str
    """Last part of the class or module it was looked up in; empty if there is none."""
    exact: bool = False
    """Whether the name exists but was called incorrectly."""
    variable: bool = False
    """Whether it was used without being bound, so that only what can be imported may be meant."""


@heuristic("looking for similar names", lambda run, observation: observation)
def add_suggestions(run: Run, observation: Observation) -> Observation:
    """Add the nearest documented APIs to what the observation's error may have meant."""
    error, knowledge = observation.error, run.knowledge
    missing = _missing_name(error) if error else None
    if error is None or missing is None:
        return observation
    paths = [re.split(r"[(:\s]", line, maxsplit=1)[0] for line in error.nearest]
    suggested = {indexed.path if (indexed := knowledge.lookup(path)) else path for path in paths}
    if missing.exact and suggested:
        return observation
    found = [api for api in _ranked(missing, knowledge.apis) if api.path not in suggested]
    lines = list(error.nearest)
    for api in found[:_MOST_MORE]:
        known = api.kind in ("property", "module", "constant")
        what = f" ({api.kind})" if known else api.signature[:_LONGEST_SIGNATURE]
        summary = api.summary[:_LONGEST_SUMMARY]
        lines.append(f"{api.path}{what}" + (f": {summary}" if summary else ""))
    return replace(observation, error=replace(error, nearest=tuple(lines)))


@heuristic("looking for similar names", lambda path, apis: [])
def find_similar_apis(path: str, apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Return a few APIs with names similar to that of this path, the most similar first."""
    owner, _, name = path.rpartition(".")
    return _ranked(_Missing(name, owner.rpartition(".")[2]), apis)[:_MOST_MORE]


def _missing_name(error: ErrorInfo) -> _Missing | None:
    form = _FORMS.get(error.name)
    found = form.match(error.message) if form else None
    if not found:
        return None
    parts = [part for part in found.groups() if part]
    if error.name == "ImportError":
        parts.reverse()
    owner, _, name = ".".join(parts).rpartition(".")
    if error.name == "TypeError" and name == "__init__":
        owner, _, name = owner.rpartition(".")
    return _Missing(name, owner.rpartition(".")[2], error.name == "TypeError", error.name == "NameError")


def _ranked(missing: _Missing, apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Sort APIs with similar names by owner, similarity of the name, deprecation and length of the path."""
    if missing.variable:
        apis = [api for api in apis if api.kind in _IMPORTABLE and _is_misspelling(missing.name, api.name)]
    names = [missing.name] if missing.exact else most_similar(missing.name, {api.name for api in apis}, _MOST_NAMES)
    rank = {name: index for index, name in enumerate(names)}
    owner = [missing.owner] if missing.owner else None
    return sorted(
        (api for api in apis if api.name in rank),
        key=lambda api: (
            api.path.split(".")[-2:-1] != owner,
            rank[api.name],
            bool(api.deprecated),
            len(api.path),
        ),
    )


def _is_misspelling(name: str, other: str) -> bool:
    """Whether two names differ in capitals and underscores only, or in one letter of several."""
    one, another = (text.replace("_", "").casefold() for text in (name, other))
    if one == another or min(len(one), len(another)) < _LEAST_MISSPELLED or name[0].isupper() != other[0].isupper():
        return one == another
    same = sum(block.size for block in SequenceMatcher(None, one, another, autojunk=False).get_matching_blocks())
    return max(len(one), len(another)) - same <= 1
