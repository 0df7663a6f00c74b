"""The plan of a run in its current form, and what the user asked for each subtask.

States are replaced and can be returned to. The agenda is one mutable object for the whole run, changed by the model's
revisions and by the user, and never reset: once a subtask has started, ids are not reused and hints are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from exploracoder_jupyter.core.types import Experience, Introduction, Passage, Plan, ScoredApi, Subtask

CHANGED_BY_USER = "changed by the user"
CHOSEN_BY_USER = "You chose to explore."


@dataclass(frozen=True, slots=True)
class CarriedSubtask:
    """The outcome of a subtask in an earlier run, reused without asking the model again."""

    code: str = ""
    """The selected snippet, which is run again; empty if there was none: then the subtask ends as it did before."""
    status: Literal["done", "failed", "skipped"] = "done"
    """How the subtask ended; a snippet that failed then may fail again."""
    reason: str = ""
    """Why the subtask was not done, if it was not."""
    apis: tuple[ScoredApi, ...] = ()
    retrieved: tuple[str, ...] = ()
    """Paths of the APIs retrieved for the subtask, best first."""
    used: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    failures: tuple[Experience, ...] = ()
    """Its other candidates that failed."""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where to resume an earlier run."""

    titles: tuple[str, ...] = ()
    """Titles of all subtasks; empty if there was no plan yet."""
    carried: tuple[CarriedSubtask | None, ...] = ()
    """What is reused for each subtask, in order; subtasks missing at the end are explored."""
    hint: str = ""
    """Hint for the first subtask that is explored."""
    queries: tuple[str, ...] = ()
    """Web search queries for the first subtasks, in order; may be empty."""
    revisions: int = 0
    fixed: bool = False
    """Whether the user had written the plan."""
    reviewed: bool = True
    """Whether the plan no longer needs the user's review."""
    introduction: Introduction | None = None
    """The introduction to the libraries, if the earlier run had one."""
    tried_programs: bool = False
    """Whether the earlier run tried whole programs before it planned, and nothing but their replies decided."""


@dataclass(slots=True)
class Agenda:
    """The current plan and the requests for its subtasks, by subtask id."""

    plan: Plan = field(default_factory=lambda: Plan(()))
    revisions: int = 0
    fixed: bool = False
    """Whether the user wrote the plan; the model may no longer change it then."""
    hints: dict[str, str] = field(default_factory=dict)
    """The user's hints for subtasks that are to be explored again; may be empty."""
    unannounced: dict[str, str] = field(default_factory=dict)
    """Hints that this run starts with, until an event records them."""
    skipped: set[str] = field(default_factory=set)
    """Subtasks not started yet that the user has skipped."""
    carried: dict[str, CarriedSubtask] = field(default_factory=dict)
    """Outcomes reused from an earlier run without asking the model."""
    chosen: dict[str, Experience] = field(default_factory=dict)
    """Candidates to be run again and carried forward."""
    ran: dict[str, Experience] = field(default_factory=dict)
    """Candidates that ran to completion, by id."""
    agreeing: dict[str, str] = field(default_factory=dict)
    """Maps candidates to an earlier one of their subtask that computed the same, by id."""
    files_kept: bool = False
    """Whether the files of a solution have been copied to their final folder."""
    _ids: int = 0
    _numbers: Counter[str] = field(default_factory=Counter)

    def next_number(self, subtask: str) -> int:
        """Return the next free number for a candidate of the subtask."""
        self._numbers[subtask] += 1
        return self._numbers[subtask]

    def new_subtasks(self, titles: Sequence[str], queries: Sequence[str] = ()) -> tuple[Subtask, ...]:
        """Create subtasks with these titles; `queries` are the web search queries of the first ones."""
        first = self._ids + 1
        self._ids += len(titles)
        pairs = zip_longest(titles, queries[: len(titles)], fillvalue="")
        return tuple(Subtask(str(id_), title, query) for id_, (title, query) in enumerate(pairs, first))

    def renumber(self, subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """Renumber the subtasks from 1 in order. Only before any has started, while nothing refers to one."""
        numbered = tuple(replace(subtask, id=str(id_)) for id_, subtask in enumerate(subtasks, 1))
        self._ids = len(numbered)
        now = {before.id: after.id for before, after in zip(subtasks, numbered, strict=True)}
        self.carried = {now[id_]: known for id_, known in self.carried.items() if id_ in now}
        self.hints = {now[id_]: hint for id_, hint in self.hints.items() if id_ in now}
        self.unannounced = {now[id_]: hint for id_, hint in self.unannounced.items() if id_ in now}
        return numbered

    def adopt(self, given: ResumePoint) -> None:
        """Adopt the plan of an earlier run, with the outcomes to reuse."""
        subtasks = self.new_subtasks(given.titles, given.queries)
        self.plan, self.revisions, self.fixed = Plan(subtasks), given.revisions, given.fixed
        self.carried = {subtask.id: known for subtask, known in zip(subtasks, given.carried, strict=False) if known}
        self.add_hint(given.hint)

    def add_hint(self, hint: str) -> None:
        """Attach a hint to the first subtask that is explored."""
        first = next((subtask.id for subtask in self.plan.subtasks if subtask.id not in self.carried), "")
        if first and hint:
            self.hints[first] = self.unannounced[first] = hint

    def forget_choices(self, subtasks: Sequence[Subtask]) -> None:
        """Forget what the user asked for these subtasks, except for hints."""
        ids = {subtask.id for subtask in subtasks}
        self.skipped -= ids
        self.carried = {id_: known for id_, known in self.carried.items() if id_ not in ids}
        self.chosen = {id_: item for id_, item in self.chosen.items() if id_ not in ids}
