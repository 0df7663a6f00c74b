"""Lists the executions of a run in the order in which they ended, each with the state that it started from.

This is a fold over the records, used for checking, replaying, resuming and exporting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Event,
    InputsInvented,
    Record,
    SolutionTested,
    Steered,
    SubtaskFinished,
)
from exploracoder_jupyter.core.run_state import SOLUTION, fold_all
from exploracoder_jupyter.core.types import Candidate, InventedInput, Observation

Kind = Literal["candidate", "solution", "input"]


@dataclass(frozen=True, slots=True)
class Execution:
    """One piece of code that was run, with its observation."""

    id: str
    """Id of the candidate; `s1-t2` for solution `s1` on input `t2`."""
    kind: Kind
    code: str
    observation: Observation
    parent: str = ""
    """Id of the candidate whose branch was forked to run it; empty: the state at the start of the run."""
    apis: tuple[str, ...] = ()
    """APIs that the code calls."""
    selected: bool = False
    """Whether it was carried forward, and not replaced later."""
    given: InventedInput | None = None
    """For an execution on a generated input: the code that runs before and after."""


def executions(records: Iterable[Record]) -> tuple[Execution, ...]:
    """List all executions in the order in which they ended, each id once with its last observation."""
    records, state = [*records], _State()
    for record in records:
        state.fold(record.event)
    sections = fold_all(records).sections.values()
    chosen = {section.selection.candidate for section in sections if section.selection}
    return tuple(replace(one, selected=one.id in chosen) for one in state.done.values())


@dataclass(slots=True)
class _State:
    proposed: dict[str, Candidate] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    """By subtask: the candidate in whose state it began."""
    chosen: dict[str, str] = field(default_factory=dict)
    """By subtask: the candidate that is carried forward."""
    inputs: dict[str, InventedInput] = field(default_factory=dict)
    done: dict[str, Execution] = field(default_factory=dict)
    state: str = ""
    """The candidate in whose state the run is."""

    def fold(self, event: Event) -> None:
        match event:
            case CandidateProposed(candidate=candidate):
                self.proposed[candidate.id] = candidate
                self.before.setdefault(candidate.subtask, self.state)
            case CandidateObserved():
                self._observe(event)
            case CandidateSelected(selection=selection):
                self.chosen[selection.subtask] = selection.candidate
            case SubtaskFinished(subtask=subtask, status=status):
                self.before.setdefault(subtask, self.state)
                self.state = self.chosen[subtask] if status == "done" and subtask in self.chosen else self.state
            case Steered(what="retry" | "choose", subtask=subtask, candidate=candidate_id):
                self._go_back(subtask)
                if candidate_id in self.proposed:  # it is run again from the state that the run has returned to
                    self.proposed[candidate_id] = replace(self.proposed[candidate_id], parent=self.state)
            case InputsInvented(inputs=inputs):
                self.inputs |= {given.id: given for given in inputs}
            case SolutionTested(candidate=candidate, results=results):
                program = self.proposed.get(candidate)
                for result in results:
                    if program and (given := self.inputs.get(result.input)):
                        id_ = f"{candidate}-{result.input}"
                        self._put(Execution(id_, "input", program.code, result.observation, given=given))

    def _observe(self, event: CandidateObserved) -> None:
        candidate = self.proposed.get(event.candidate)
        if candidate is None:
            return
        is_solution = candidate.subtask == SOLUTION and not candidate.parent  # else an example that ran after one
        kind: Kind = "solution" if is_solution else "candidate"
        parent = "" if is_solution else candidate.parent
        self._put(Execution(candidate.id, kind, candidate.code, event.observation, parent, event.apis))

    def _put(self, execution: Execution) -> None:
        self.done.pop(execution.id, None)
        self.done[execution.id] = execution

    def _go_back(self, subtask: str) -> None:
        """Return to the state before a subtask; the later subtasks restart."""
        if subtask not in self.before:
            return
        self.state = self.before[subtask]
        later = list(self.before)[list(self.before).index(subtask) :]
        self.before = {id_: state for id_, state in self.before.items() if id_ not in later}
        self.chosen = {id_: one for id_, one in self.chosen.items() if id_ not in later}
