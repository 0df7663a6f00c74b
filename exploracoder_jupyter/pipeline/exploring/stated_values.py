"""Finds the results that the text of a task states, and which of them a candidate computed.

A value counts if the text states it as a result (`is 42`, `returns "a"`, `-> [1, 2]`) and the code does not contain it.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.pipeline.exploring.output_similarity import find_facts, result_text
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic

_STATES: Final = re.compile(
    r"(?:->|=>|→|==|\b(?:is|are|be|equals?|gives?|returns?|yields?|prints?|shows?|results? in|expected)\b:?)"
    r"\s*(?:exactly\s+|about\s+)?`?(?P<value>[-\[({'\"\d][^\n;`]{0,200})"
)
_NEXT: Final = re.compile(r"\. |,? (?:and|but|where|when|if|for|with|which|because|so)\b")
"""Where the value ends at the latest."""
_TRIVIAL: Final = (0.0, 1.0, True, False, "")


@heuristic("comparing a result with the task", lambda item, text: ())
def shown_stated_values(item: Experience, text: str) -> tuple[object, ...]:
    """Return the results stated in the text that the output shows and the code does not contain, each once."""
    stated = [fact for match in _STATES.finditer(text) for fact in find_facts(_NEXT.split(match["value"])[0])]
    if not stated:
        return ()
    shown = find_facts(result_text(item.observation))
    written = _literals(item.candidate.code)
    fresh = (fact for fact in stated if fact not in _TRIVIAL and fact in shown and fact not in written)
    return tuple(dict.fromkeys(fresh))


def _literals(code: str) -> list[object]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return find_facts(code)
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    numbers = [float(value) if isinstance(value, int | float) else value for value in values]
    return [*numbers, *(-value for value in numbers if isinstance(value, float))]
