"""What the user may ask of a run that is under way, beside its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skip:
    """Give up this subtask and go on."""

    subtask: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Go back to the state before this subtask and explore it again, with the hint; later ones follow anew."""

    subtask: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Choose:
    """Go back to the state before this candidate's subtask and carry the candidate forward; later ones follow anew."""

    candidate: str


@dataclass(frozen=True, slots=True)
class Replan:
    """These titles replace the subtasks that have not begun; ends a review."""

    titles: tuple[str, ...]


Control = Skip | Retry | Choose | Replan
