"""What a run has to do, as it stands: the plan, and what was said of its subtasks.

A state is replaced and can be gone back to; the agenda is one for the whole run, is changed by the model's revisions
and by the user, and is never set back: once a subtask has begun, ids are given out once, and a hint stays known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from exploracoder_jupyter.core.types import Experience, Introduction, Passage, Plan, ScoredApi, Subtask

CHANGED_BY_USER = "changed by the user"
"""Why a plan was revised, where the model did not."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What an earlier run came to for a subtask: taken over without asking the model again."""

    code: str = ""
    """The snippet that was selected: it is run again; empty: there was none, and the subtask ends as it did then."""
    status: Literal["done", "failed", "skipped"] = "done"
    """How the subtask ended; a snippet that failed then may fail again."""
    reason: str = ""
    """Why, where it was not done."""
    apis: tuple[ScoredApi, ...] = ()
    """What was recommended for it."""
    retrieved: tuple[str, ...] = ()
    """Paths of the APIs that were found for it, best first."""
    passages: tuple[Passage, ...] = ()
    """What else was found for it."""
    chosen: bool = False
    """Whether the snippet is the user's choice."""


@dataclass(frozen=True, slots=True)
class Given:
    """Where a run goes on from another."""

    titles: tuple[str, ...] = ()
    """Of all subtasks; none: it had no plan yet."""
    carried: tuple[Carried | None, ...] = ()
    """For each of them, in their order, what is taken over; what is left out at the end is explored."""
    hint: str = ""
    """For the first subtask that is explored."""
    queries: tuple[str, ...] = ()
    """What to search the web for, for each of the first subtasks; may be empty."""
    revisions: int = 0
    """How often the model had changed the plan."""
    fixed: bool = False
    """Whether the user had written the plan."""
    reviewed: bool = True
    """Whether the plan does not wait for the user's word any more."""
    introduction: Introduction | None = None
    """Of the libraries, where the earlier run had it."""


@dataclass(slots=True)
class Agenda:
    """The plan as it stands, and what was said of its subtasks; by the ids of those."""

    plan: Plan = field(default_factory=lambda: Plan(()))
    revisions: int = 0
    """How often the model has changed the plan."""
    fixed: bool = False
    """Whether the user has written it: then the model changes it no more."""
    hints: dict[str, str] = field(default_factory=dict)
    """What the user gave along for subtasks that are wanted again; may be empty."""
    unannounced: dict[str, str] = field(default_factory=dict)
    """Hints for what this run begins with, until its records tell them."""
    skipped: set[str] = field(default_factory=set)
    """Subtasks still to come that the user has given up."""
    carried: dict[str, Carried] = field(default_factory=dict)
    """What is taken over from an earlier run without asking the model."""
    chosen: dict[str, Experience] = field(default_factory=dict)
    """Candidates that are to be run again and carried forward."""
    ran: dict[str, Experience] = field(default_factory=dict)
    """Candidates that ran to their end, by their ids."""
    files_kept: bool = False
    """Whether what a solution wrote has been copied to where it is kept."""
    _ids: int = 0
    _numbers: Counter[str] = field(default_factory=Counter)

    def next_number(self, subtask: str) -> int:
        """The next free number for a candidate of the subtask."""
        self._numbers[subtask] += 1
        return self._numbers[subtask]

    def new_subtasks(self, titles: Sequence[str], queries: Sequence[str] = ()) -> tuple[Subtask, ...]:
        """New subtasks of these titles; `queries` are what to search the web for, for the first of them."""
        first = self._ids + 1
        self._ids += len(titles)
        pairs = zip_longest(titles, queries[: len(titles)], fillvalue="")
        return tuple(Subtask(str(id_), title, query) for id_, (title, query) in enumerate(pairs, first))

    def renumber(self, subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """The same subtasks, numbered from 1 in their order. Only while none has begun: nothing refers to one yet."""
        numbered = tuple(replace(subtask, id=str(id_)) for id_, subtask in enumerate(subtasks, 1))
        self._ids = len(numbered)
        now = {before.id: after.id for before, after in zip(subtasks, numbered, strict=True)}
        self.carried = {now[id_]: known for id_, known in self.carried.items() if id_ in now}
        self.hints = {now[id_]: hint for id_, hint in self.hints.items() if id_ in now}
        self.unannounced = {now[id_]: hint for id_, hint in self.unannounced.items() if id_ in now}
        return numbered

    def adopt(self, given: Given) -> None:
        """Take the plan of an earlier run, with what is known to have run there."""
        subtasks = self.new_subtasks(given.titles, given.queries)
        self.plan, self.revisions, self.fixed = Plan(subtasks), given.revisions, given.fixed
        self.carried = {subtask.id: known for subtask, known in zip(subtasks, given.carried, strict=False) if known}
        self.add_hint(given.hint)

    def add_hint(self, hint: str) -> None:
        """Give a hint along for the first subtask that is explored."""
        first = next((subtask.id for subtask in self.plan.subtasks if subtask.id not in self.carried), "")
        if first and hint:
            self.hints[first] = self.unannounced[first] = hint

    def forget_choices(self, subtasks: Sequence[Subtask]) -> None:
        """Forget what the user said of these, except for hints."""
        ids = {subtask.id for subtask in subtasks}
        self.skipped -= ids
        self.carried = {id_: known for id_, known in self.carried.items() if id_ not in ids}
        self.chosen = {id_: item for id_, item in self.chosen.items() if id_ not in ids}
