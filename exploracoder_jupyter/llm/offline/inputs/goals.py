"""Goals: a text to satisfy, with its words, values and the functions that it describes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.llm.offline.inputs.derived_values import derive_values
from exploracoder_jupyter.llm.offline.inputs.described_functions import find_callables
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets, find_values, mask_literals
from exploracoder_jupyter.llm.offline.inputs.word_matching import content_stems, name_stems
from exploracoder_jupyter.text.tokenizer import stem

_FOR_EACH = re.compile(r"\b(?:for|of|per|in) (?:each|every) \w+|\bper [a-z]+\b", re.IGNORECASE)
_FOREIGN = 1000
"""First id of values that are not in the whole task."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A clause or the whole task."""

    text: str
    words: tuple[str, ...]
    """Stems of its words and of the names in which it wants results, without stop words."""
    values: tuple[Value, ...]
    forms: tuple[str, ...] = ("from",)
    """Stems of the values' types, which occur in names such as `from_tuples`."""
    callables: tuple[str, ...] = ()
    """Functions that the text describes."""

    @classmethod
    def of(cls, text: str) -> Goal:
        """Create the goal for a text."""
        named = (part for name in find_targets(text) for part in name_stems(name) if len(part) >= 4)
        grouping = ("group",) if _FOR_EACH.search(text) else ()
        words = tuple(dict.fromkeys((*content_stems(mask_literals(text)), *named, *grouping)))
        values = find_values(text)
        forms = {stem(word) for value in values for word in re.findall(r"[a-z]+", value.shape)}
        values = (*values, *derive_values(values, text))
        return cls(text, words, values, ("from", *sorted(forms)), find_callables(text))


def clause_goals(texts: Sequence[str], whole_goal: Goal) -> list[Goal]:
    """Return the goals of the clauses of a task, with their values numbered as in the whole task, and its hints."""
    remaining = [value for value in whole_goal.values if not value.is_hint]
    hints = [value for value in whole_goal.values if value.is_hint]
    goals = []
    for text in texts:
        goal = Goal.of(text)
        values = []
        for value in goal.values:
            same = next((other for other in remaining if other.code == value.code), None)
            if value.is_hint:
                continue
            if same is not None:
                remaining.remove(same)
            values.append(same or replace(value, id=_FOREIGN + value.id, members=frozenset()))
        goals.append(replace(goal, values=(*values, *hints)))
    return goals
