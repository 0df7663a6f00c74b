"""Selection by meaning: which of a subtask's experiences is carried forward, and why.

The paper takes a random candidate that ran, preferring valid output (section 3.4). Here the candidates that ran are
grouped by what they computed. A group wins whose result the task states, otherwise the largest. Within it the order is:
its own assertions passed > its output is informative > it uses recommended APIs > it is shorter. What ran but
contradicts its subtask (`result_objection`) comes after everything else that ran. The reason is one clause for users.

A value counts as stated if the text gives it as a result (`is 42`, `returns "a"`, `-> [1, 2]`) and the code does not
contain it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Experience, Selection
from exploracoder_jupyter.pipeline.exploring.result_agreement import (
    find_facts,
    is_informative,
    outputs_agree,
    result_text,
    stated_facts,
)
from exploracoder_jupyter.pipeline.exploring.result_objection import find_objection
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.solving.user_check_assertion_rewrite import can_fail

_TRIVIAL: Final = (0.0, 1.0, True, False, "")
_NONE_RAN: Final = "none ran, and its error shows what to avoid"


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """Evidence in favor of an experience; compares in the order of its fields."""

    ran: bool
    unobjectionable: bool
    """Whether nothing that it shows contradicts its subtask."""
    stated: int
    """How many results that the task states are shown by the candidates that computed the same."""
    agreeing: int
    asserted: bool
    """Whether it contains an assertion about its result, which passed."""
    informative: bool
    recommended: int
    """How many recommended APIs it actually calls."""
    brevity: int
    """Negative length of the code."""


@heuristic("selecting a candidate", lambda experiences, *args, **options: _select_first(experiences))
def select(
    experiences: Sequence[Experience], recommended: Sequence[str], task: str = "", *, best_first: bool = False
) -> tuple[Experience, Selection]:
    """Return the best experience (the first among equals) with the reason.

    Args:
        experiences: what was tried, at least one.
        recommended: paths of the recommended APIs.
        task: the text of the task, which may state results.
        best_first: whether the model proposed the likeliest first, as the offline model does; then that decides
            instead of brevity.
    """
    evidence = [_evidence(item, set(recommended), task) for item in experiences]
    stated = [item.stated for item in evidence]
    for index, item in enumerate(experiences):
        group = [other for other, its in enumerate(experiences) if other != index and outputs_agree(item, its)]
        evidence[index] = replace(
            evidence[index],
            stated=max(stated[other] for other in (index, *group)),
            agreeing=len(group),
            brevity=0 if best_first else evidence[index].brevity,
        )
    best = max(range(len(experiences)), key=lambda i: (evidence[i], -i))
    chosen = experiences[best]
    others = [item for index, item in enumerate(evidence) if index != best]
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, (_reason(chosen, evidence[best], others),))


def _select_first(experiences: Sequence[Experience]) -> tuple[Experience, Selection]:
    chosen = next((item for item in experiences if item.observation.ran), experiences[0])
    reason = "it is the first that ran" if chosen.observation.ran else _NONE_RAN
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, (reason,))


def _evidence(item: Experience, recommended: set[str], task: str) -> Evidence:
    """Return the evidence of an experience by itself."""
    ran = item.observation.ran
    return Evidence(
        ran,
        not find_objection(item),
        _count_stated(item, f"{task}\n{item.subtask.title}") if ran else 0,
        0,
        ran and _asserts(item.candidate.code),
        is_informative(result_text(item.observation)),
        len(recommended.intersection(item.apis)),
        -len(item.candidate.code),
    )


@heuristic("comparing a result with the task", lambda item, text: 0)
def _count_stated(item: Experience, text: str) -> int:
    """Count the results stated in the text that the output shows and the code does not contain."""
    stated = {*stated_facts(text)}
    if not stated:
        return 0
    code = item.candidate.code
    tree = parse_python(code)
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    negative = (-value for value in constants if isinstance(value, int | float))
    written = [*constants, *negative] if tree.body else find_facts(code)
    shown = find_facts(result_text(item.observation))
    return sum(fact not in _TRIVIAL and fact in shown and fact not in written for fact in stated)


@heuristic("looking for assertions", lambda code: False)
def _asserts(code: str) -> bool:
    """Whether the code contains an assertion that always runs and could fail."""
    assertions = [node for node in parse_python(code).body if isinstance(node, ast.Assert)]
    names = [inner for node in assertions for inner in ast.walk(node.test) if isinstance(inner, ast.Name)]
    return bool(names) and can_fail(ast.Module([*assertions], []))


def _reason(chosen: Experience, its: Evidence, others: Sequence[Evidence]) -> str:
    """Return the clause that explains the choice: what distinguishes it from the other candidates."""
    rivals = [other for other in others if other.ran]
    if not its.ran:
        return _NONE_RAN
    if not its.unobjectionable:
        return f"no other candidate did better, but {find_objection(chosen)}"
    if its.stated:
        return "its result is the one that the task states"
    if its.agreeing:
        return f"{its.agreeing} other{'s' if its.agreeing > 1 else ''} computed the same"
    if not rivals:
        return "it is the only one that ran" if others else "it ran"
    if not any(other.unobjectionable for other in rivals):
        return "the results of the others contradict the subtask"
    if not its.informative:
        return "it is the simplest, and none shows a result"
    if its.asserted and not all(other.asserted for other in rivals):
        return "it tested its own result, and each candidate computed something else"
    if not all(other.informative for other in rivals):
        return "it shows its result"
    if its.recommended > min(other.recommended for other in rivals):
        return "it uses more of the recommended APIs, and each candidate computed something else"
    quality = "simplest" if its.brevity else "likeliest"
    return f"it is the {quality}, and each candidate computed something else"
