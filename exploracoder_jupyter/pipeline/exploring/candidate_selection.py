"""Evidence-based selection: which of a subtask's experiences is carried forward, and why.

The paper takes a random candidate that ran, preferring valid output (section 3.4). Here the order is: it ran > others
that ran agree with it > its own assertions passed > its output is informative > it uses recommended APIs > it is
shorter. The reasons are recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from exploracoder_jupyter.core.types import Experience, Selection
from exploracoder_jupyter.pipeline.exploring.output_similarity import is_informative, outputs_agree, result_text
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.solving.user_check_rewrite import can_fail


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """Evidence in favor of an experience; compares in the order of its fields."""

    ran: bool
    agreeing: int
    """How many other candidates that ran show the same result."""
    asserted: bool
    """Whether it contains an assertion about its result, which passed."""
    informative: bool
    recommended: int
    """How many recommended APIs it actually calls."""
    brevity: int
    """Negative length of the code."""


@heuristic("selecting a candidate", lambda experiences, recommended: _select_first(experiences))
def select(experiences: Sequence[Experience], recommended: Sequence[str]) -> tuple[Experience, Selection]:
    """Return the best experience (the first among equals) with the reasons. Requires at least one experience."""
    evidence = [_evidence(item, experiences, set(recommended)) for item in experiences]
    best = max(range(len(experiences)), key=lambda i: (evidence[i], -i))
    chosen = experiences[best]
    ran = sum(item.ran for item in evidence)
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, _reasons(evidence[best], chosen, ran))


def _select_first(experiences: Sequence[Experience]) -> tuple[Experience, Selection]:
    """Select the first experience that ran, else the first."""
    chosen = next((item for item in experiences if item.observation.ran), experiences[0])
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, ("ran" if chosen.observation.ran else "none ran",))


def _evidence(item: Experience, all_: Sequence[Experience], recommended: set[str]) -> Evidence:
    observation = item.observation
    agreeing = sum(outputs_agree(item, other) for other in all_ if other is not item) if observation.ran else 0
    used = len(recommended.intersection(item.apis))
    asserted = observation.ran and _asserts(item.candidate.code)
    informs = is_informative(result_text(observation))
    return Evidence(observation.ran, agreeing, asserted, informs, used, -len(item.candidate.code))


@heuristic("looking for assertions", lambda code: False)
def _asserts(code: str) -> bool:
    """Whether the code contains an assertion that always runs and could fail."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    assertions = [node for node in body if isinstance(node, ast.Assert)]
    names = [inner for node in assertions for inner in ast.walk(node.test) if isinstance(inner, ast.Name)]
    return bool(names) and can_fail(ast.Module([*assertions], []))


def _reasons(evidence: Evidence, chosen: Experience, ran: int) -> tuple[str, ...]:
    if not evidence.ran:
        return ("none ran", "its failure is kept as experience")
    reasons = ["ran" if ran > 1 else "the only one that ran"]
    if evidence.agreeing:
        reasons.append(f"gives the same as {evidence.agreeing} other{'s' if evidence.agreeing > 1 else ''}")
    if evidence.asserted:
        reasons.append("its own assertion passed")
    reasons.append("informative output" if evidence.informative else "no informative output")
    if evidence.recommended:
        reasons.append(f"uses {evidence.recommended} recommended API{'s' if evidence.recommended > 1 else ''}")
    return tuple(reasons)
