"""A goal: a text to satisfy, a clause or the whole task, with the values that its calls can use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets, find_values, mask_literals
from exploracoder_jupyter.llm.offline.inputs.word_matching import content_stems, name_stems

_FUNCTION_CUES: tuple[tuple[str, str], ...] = (
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
)
_COMPARISON = re.compile(
    r"(greater|more|larger|bigger|above|over|less|smaller|fewer|below|under|at least|at most)"
    r"(?: than)? (-?\d+(?:\.\d+)?)"
)
_OPERATORS = {"at least": ">=", "at most": "<="}


@dataclass(frozen=True, slots=True)
class Goal:
    """A text to satisfy: a clause or the whole task."""

    text: str
    words: tuple[str, ...]
    """Stemmed words, without stop words."""
    values: tuple[Value, ...]
    """Literals of the text and variables of the state, the latest variable first."""
    callables: tuple[str, ...] = ()
    """Functions that the text describes, as code: `len`, `lambda x: x % 2 == 0`."""
    reserved: frozenset[str] = frozenset()
    """Names of variables that are already used."""

    @classmethod
    def of(cls, text: str) -> Goal:
        """Create the goal for a text."""
        named = (part for name in find_targets(text) for part in name_stems(name) if len(part) >= 4)
        words = tuple(dict.fromkeys((*content_stems(mask_literals(text)), *named)))
        return cls(text, words, find_values(text), find_callables(text), frozenset(find_targets(text)))

    @property
    def variables(self) -> list[Value]:
        """The variables of the state, the latest first."""
        return [value for value in self.values if value.id < 0]

    def using(self, variables: Sequence[Value], values: Sequence[Value], names: Sequence[str] = ()) -> Goal:
        """Return the goal with these variables and values to choose from, and further reserved names."""
        reserved = self.reserved.union(names, (variable.code for variable in variables))
        return replace(self, values=(*variables, *values), reserved=reserved)


def find_callables(text: str) -> tuple[str, ...]:
    """Return functions that a text describes, as code."""
    lowered = text.lower()
    found = re.findall(r"`((?:str|math|operator)\.[a-z_]+)`", text)
    for match in _COMPARISON.finditer(lowered):
        word = match.group(1)
        operator = _OPERATORS.get(word) or ("<" if word in ("less", "smaller", "fewer", "below", "under") else ">")
        found.append(f"lambda x: x {operator} {match.group(2)}")
    found.extend(code for pattern, code in _FUNCTION_CUES if re.search(pattern, lowered))
    return tuple(dict.fromkeys(found))
