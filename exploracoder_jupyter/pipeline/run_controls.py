"""What the user may ask of a run in progress, besides stopping it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skip:
    """Skip this subtask and continue."""

    subtask: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Return to the state before this subtask and explore it, with the hint, and the later ones again."""

    subtask: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Choose:
    """Return to the state before this candidate's subtask, carry the candidate forward, explore the later ones
    again."""

    candidate: str


@dataclass(frozen=True, slots=True)
class Replan:
    """Replace the subtasks that have not started with these titles; ends a review."""

    titles: tuple[str, ...]


Control = Skip | Retry | Choose | Replan
