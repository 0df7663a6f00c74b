"""What the user may ask of a run in progress, besides stopping it.

The kernel sends a control to the engine as a line of JSON, and the pipeline applies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Skip:
    """Skip this subtask and continue."""

    subtask: str
    type: Literal["skip"] = "skip"


@dataclass(frozen=True, slots=True)
class Retry:
    """Return to the state before this subtask and explore it, with the hint, and the later ones again."""

    subtask: str
    hint: str = ""
    type: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True)
class Choose:
    """Return to the state before this candidate's subtask, carry the candidate forward, explore the later ones
    again."""

    candidate: str
    type: Literal["choose"] = "choose"


@dataclass(frozen=True, slots=True)
class Replan:
    """Replace the subtasks that have not started with these titles; ends a review."""

    titles: tuple[str, ...]
    type: Literal["replan"] = "replan"


@dataclass(frozen=True, slots=True)
class Explore:
    """Plan and explore now, instead of trying whole programs first."""

    type: Literal["explore"] = "explore"


@dataclass(frozen=True, slots=True)
class RunEdited:
    """Run a candidate's code as the user edited it, from the state before its subtask, as a candidate of its own."""

    subtask: str
    candidate: str
    """Id of the candidate whose code was edited."""
    code: str
    type: Literal["edit"] = "edit"


Control = Skip | Retry | Choose | Replan | Explore | RunEdited
