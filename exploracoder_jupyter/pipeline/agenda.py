"""What a run has to do, as it stands: the plan, and what was said of its subtasks.

A state is replaced and can be gone back to; the agenda is one for the whole run, is changed by the model's revisions
and by the user, and is never set back: ids are given out once, and a hint stays known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from exploracoder_jupyter.types import Experience, Plan, Subtask


@dataclass(frozen=True, slots=True)
class Given:
    """Where a run goes on from one that has ended."""

    titles: tuple[str, ...]
    """Of all subtasks."""
    code: tuple[str, ...] = ()
    """Snippets for the first subtasks, one each."""
    hint: str = ""
    """For the first subtask without one."""
    chosen: bool = False
    """Whether the last snippet is the user's choice."""


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
    untold: dict[str, str] = field(default_factory=dict)
    """Hints for what this run begins with, until its records tell them."""
    skipped: set[str] = field(default_factory=set)
    """Subtasks still to come that the user has given up."""
    given: dict[str, str] = field(default_factory=dict)
    """Snippets that are run without asking the model."""
    picked: str = ""
    """The subtask whose snippet among these the user has chosen, if any."""
    chosen: dict[str, Experience] = field(default_factory=dict)
    """Candidates that are to be run again and carried forward."""
    ran: dict[str, Experience] = field(default_factory=dict)
    """Candidates that ran to their end, by their ids."""
    files_kept: bool = False
    """Whether what a solution wrote has been copied to where it is kept."""
    _ids: int = 0
    _numbers: Counter[str] = field(default_factory=Counter)

    def number(self, subtask: str) -> int:
        """The next free number for a candidate of the subtask."""
        self._numbers[subtask] += 1
        return self._numbers[subtask]

    def subtasks(self, titles: Sequence[str], queries: Sequence[str] = ()) -> tuple[Subtask, ...]:
        """New subtasks of these titles; `queries` are what to search the web for, for the first of them."""
        first = self._ids + 1
        self._ids += len(titles)
        pairs = zip_longest(titles, queries[: len(titles)], fillvalue="")
        return tuple(Subtask(str(id_), title, query) for id_, (title, query) in enumerate(pairs, first))

    def follow(self, given: Given) -> None:
        """Take the plan of an earlier run, with what is known to have run there."""
        subtasks = self.subtasks(given.titles)
        self.plan = Plan(subtasks)
        self.given = {subtask.id: code for subtask, code in zip(subtasks, given.code, strict=False)}
        self.picked = subtasks[len(given.code) - 1].id if given.chosen and given.code else ""
        rest = subtasks[len(given.code) :]
        if rest and given.hint:
            self.hints[rest[0].id] = self.untold[rest[0].id] = given.hint

    def begin_anew(self, subtasks: Sequence[Subtask]) -> None:
        """Forget what the user said of these, except for hints."""
        ids = {subtask.id for subtask in subtasks}
        self.skipped -= ids
        self.given = {id_: code for id_, code in self.given.items() if id_ not in ids}
        self.chosen = {id_: item for id_, item in self.chosen.items() if id_ not in ids}
