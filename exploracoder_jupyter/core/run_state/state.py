"""The data of a run's state: sections (the subtasks and the solution), their attempts, and facts about the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.configuration.sections import ADAPTIVE, EFFORTS, EXPLORE
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    InventedInput,
    Judgement,
    Observation,
    Output,
    Plan,
    Ruling,
    Selection,
    Status,
    Subtask,
    SubtaskStatus,
    Task,
    Usage,
    Verdict,
)

SOLUTION = "solution"
"""Id of the section with the solutions; no subtask has this id."""
CandidateState = Literal["running", "not finished", "not run", "duplicate", "no code", "check failed"] | Status
FAILED_STATES: frozenset[CandidateState] = frozenset(("error", "check failed", "timeout", "died"))
"""States of candidates that ran and did not do what they should."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and its result."""

    candidate: Candidate
    observation: Observation | None = None
    apis: tuple[str, ...] = ()
    """Paths of the APIs that it actually calls."""
    agrees_with: str = ""
    """Id of an earlier candidate that computed the same, if there is one."""
    era: int = 0
    """How often its section had been restarted before it was proposed."""
    abandoned: bool = False
    """Whether its section was restarted, or the run ended, before it had run."""
    unexecuted: bool = False
    """Whether it was selected without being run, by a strategy that runs nothing."""

    @property
    def id(self) -> str:
        """Id of the candidate."""
        return self.candidate.id

    @property
    def has_cell(self) -> bool:
        """Whether it has code to show that is not a duplicate."""
        candidate = self.candidate
        return not (candidate.problem or candidate.duplicate_of) and bool(candidate.code.strip())

    @property
    def failed_check(self) -> bool:
        """Whether it ran to its end and did not give what its check requires."""
        seen = self.observation
        return seen is not None and seen.status == "error" and seen.unmet == "check"

    @property
    def state(self) -> CandidateState:
        """What has become of it so far."""
        if self.observation:
            return "check failed" if self.failed_check else self.observation.status
        if self.candidate.problem:
            return "no code"
        if self.candidate.duplicate_of:
            return "duplicate"
        return "not run" if self.unexecuted else "not finished" if self.abandoned else "running"

    @property
    def note(self) -> str:
        """Why it did not run to its end, on one line; empty if it did."""
        if seen := self.observation:
            return "" if seen.ran else seen.error.headline if seen.error else seen.note
        same = f"same as {self.candidate.duplicate_of}" if self.candidate.duplicate_of else ""
        return self.candidate.problem or same


@dataclass(frozen=True, slots=True)
class InputResult:
    """The result of a solution on a generated input."""

    given: InventedInput
    observation: Observation
    usable: bool = True
    """False if the input fails without the solution."""


@dataclass(frozen=True, slots=True)
class InputRound:
    """The results of a solution on the generated inputs, and their judgement."""

    shown: tuple[InputResult, ...]
    judgement: Judgement | None = None

    def ruling_on(self, input: str) -> Ruling | None:
        """Return the ruling on one input.

        This is the input's own ruling, or else the overall one; but an overall "wrong" may be due to another input.
        """
        if self.judgement is None:
            return None
        own = [opinion.ruling for opinion in self.judgement.opinions if opinion.input == input]
        overall = self.judgement.ruling if self.judgement.ruling == "right" or len(self.shown) == 1 else None
        return own[-1] if own else overall


@dataclass(frozen=True, slots=True)
class Section:
    """A subtask, or the solution, with all its attempts, searches and notices."""

    subtask: Subtask
    status: SubtaskStatus = "planned"
    reason: str = ""
    started: bool = False
    apis: tuple[ApiDoc, ...] = ()
    """The APIs recommended for it."""
    selection: Selection | None = None
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    """By candidate, in the order in which they were proposed."""
    notices: tuple[events.Notice, ...] = ()
    era: int = 0
    """How often it was restarted because the user went back to it or to an earlier one."""
    wishes: tuple[events.Steered, ...] = ()
    """The user's requests that restarted this very section."""
    hint: str = ""
    """The hint of the latest of these requests, unless an earlier section was restarted since."""
    inputs: tuple[InventedInput, ...] = ()
    """Generated inputs on which solutions are tested."""
    rounds: Mapping[str, InputRound] = field(default_factory=dict)
    """The results on these inputs, by the id of the solution."""
    searches: tuple[events.KnowledgeSearched, ...] = ()
    """Searches made for it."""
    lookups: tuple[events.LookedUp, ...] = ()
    """Look-ups that the model requested while writing code."""

    @property
    def id(self) -> str:
        """Id of the subtask; `SOLUTION` for the solution."""
        return self.subtask.id

    @property
    def title(self) -> str:
        """Title of the subtask."""
        return self.subtask.title

    @property
    def candidates(self) -> tuple[Attempt, ...]:
        """The attempts in the order in which they were proposed."""
        return tuple(self.attempts.values())

    @property
    def ordered(self) -> list[Attempt]:
        """The attempts sorted by era, debug round and number, regardless of when they arrived."""
        return sorted(self.attempts.values(), key=_sort_key)

    @property
    def selected(self) -> Attempt | None:
        """The attempt carried forward."""
        return self.attempts.get(self.selection.candidate) if self.selection else None

    @property
    def settled(self) -> bool:
        """Whether it has been decided which attempt is carried forward, if any."""
        return self.selection is not None or self.status in ("done", "failed", "skipped")

    def is_carried_forward(self, attempt: Attempt) -> bool | None:
        """Whether the attempt is carried forward; `None` while undecided."""
        if self.settled:
            return attempt is self.selected
        return None if attempt.era == self.era else False

    def was_skipped(self, attempt: Attempt) -> bool:
        """Whether the attempt had not run yet when the decision made it unnecessary."""
        return attempt.observation is None and self.is_carried_forward(attempt) is False


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run after the records folded so far, and what only the process that started it knows."""

    started: events.RunStarted | None = None
    started_at: float = 0.0
    now: float = 0.0
    """Time of the last record, or of the end if no record has it; in seconds since the epoch, like all times here."""
    library: events.LibraryRead | None = None
    estimate: events.Estimated | None = None
    plan: Plan | None = None
    efforts: tuple[events.EffortChosen, ...] = ()
    """When the run tried whole programs and when it explored, and why, in order."""
    revisions: tuple[str, ...] = ()
    """Reasons of the plan's revisions, in order."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    notices: tuple[events.Notice, ...] = ()
    """All notices, in order."""
    opening_notices: tuple[events.Notice, ...] = ()
    """Notices from before the first subtask."""
    searches: tuple[events.KnowledgeSearched, ...] = ()
    """Searches made for the plan."""
    current: str | None = None
    """Id of the section that is being worked on."""
    activity: str = "Starting."
    """The current activity, one sentence."""
    waited: float = 0.0
    """Seconds that the run has waited for the user, without the present wait since `waiting_since`."""
    waiting_since: float | None = None
    """When the present wait for the user's review of the plan began."""
    spent: Usage = field(default_factory=Usage)
    """The cost so far, counted from the records."""
    files: events.FilesKept | None = None
    """Files that the solution wrote, if they were kept."""
    finished: events.RunFinished | None = None
    task: Task = field(default_factory=lambda: Task("", ()))
    """The task: as the caller wrote it until the run has started."""
    called_at: float | None = None
    """When the caller requested the run."""
    trace: str | None = None
    """Path of the trace notebook, once it is being written."""
    failure: str = ""
    """Why the run could not be started or broke off: one sentence."""
    stopped: bool = False
    """Whether it broke off because the user stopped it."""
    last_observed: str = ""
    """Id of the candidate that ran last."""
    solution_outputs: tuple[Output, ...] = ()
    """What the solution showed when it ran, sanitized."""

    @property
    def run_id(self) -> str:
        """Eight hexadecimal digits; empty while unknown."""
        return self.started.run_id if self.started else ""

    @property
    def model(self) -> str:
        """Name of the model; empty while unknown."""
        return self.started.model if self.started else ""

    @property
    def strategy(self) -> str:
        """Name of the method; `explore` where none is recorded."""
        settings = self.started.settings.get("exploration") if self.started else None
        recorded = settings if isinstance(settings, dict) else {}
        name = recorded.get("strategy") or EFFORTS.get(str(recorded.get("effort")))
        return name if isinstance(name, str) else EXPLORE

    @property
    def may_explore_now(self) -> bool:
        """Whether the run tries whole programs and can be asked to explore instead."""
        return not self.over and bool(self.efforts) and self.efforts[-1].effort == "direct"

    @property
    def explores(self) -> bool:
        """Whether the run plans and explores subtasks, or may do so."""
        return self.strategy in (EXPLORE, ADAPTIVE)

    @property
    def isolation(self) -> str:
        """How experiments are confined, and in which state they start; empty while unknown."""
        return self.started.environment.confinement if self.started else ""

    @property
    def subtasks(self) -> list[Section]:
        """The sections of planned and already started subtasks, in order."""
        return [section for id, section in self.sections.items() if id != SOLUTION]

    @property
    def planned(self) -> tuple[Section, ...]:
        """The sections of the subtasks that the present plan contains, in order."""
        return tuple(self.sections[subtask.id] for subtask in self.plan.subtasks) if self.plan else ()

    @property
    def solution_section(self) -> Section:
        """The section with the solutions, whose status is that of the search for one."""
        section = self.sections.get(SOLUTION) or Section(Subtask(SOLUTION, "Solution"))
        if self.verdict and self.verdict.outcome != "stopped":
            return replace(section, status="done" if self.offered_solution else "failed")
        tried = any(attempt.era == section.era for attempt in section.candidates)
        return replace(section, status="exploring" if tried else "planned")

    @property
    def shown_sections(self) -> tuple[Section, ...]:
        """The planned subtasks, and the solution once there is an attempt at one."""
        solution = self.solution_section
        return (*self.planned, *([solution] if solution.candidates else []))

    @property
    def tries(self) -> tuple[int, int]:
        """How many candidates were executed, or are being executed, and how many of them failed."""
        all_ = [one for section in self.sections.values() for one in section.candidates if one.has_cell]
        return len(all_), sum(one.state in FAILED_STATES for one in all_)

    @property
    def usage(self) -> Usage:
        """The cost: the run's own totals once it has finished."""
        return self.finished.usage if self.finished else self.spent

    @property
    def verdict(self) -> Verdict | None:
        """How the run ended, once it has finished."""
        return self.finished.verdict if self.finished else None

    @property
    def offered_solution(self) -> str | None:
        """Code of the solution if it can be offered; for a stopped run it states that it was not run as a whole.

        The change of a repository is offered as the command that applies it.
        """
        solution = self.finished.solution if self.finished else None
        if self.patch:
            return f'%explora apply "{self.trace}"' if self.trace else "%explora apply"
        return offered_code(solution.code, self.finished.verdict) if self.finished and solution else None

    @property
    def patch(self) -> str:
        """The change of a repository that passed its tests; empty without one."""
        finished = self.finished
        solved = finished is not None and finished.verdict.outcome == "solved"
        return finished.solution.patch if finished and solved and finished.solution else ""

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.finished is not None or bool(self.failure)

    @property
    def broken(self) -> bool:
        """Whether the run failed without being stopped by the user."""
        return bool(self.failure) and not self.stopped

    @property
    def reviewing(self) -> bool:
        """Whether the plan is waiting for the user's review."""
        return self.waiting_since is not None

    @property
    def since(self) -> float | None:
        """When the run began: for its caller, when it was requested."""
        return self.called_at or (self.started_at if self.started else None)

    def seconds(self, now: float) -> float:
        """Return how long the run took, or has taken until `now`, without waiting for the user.

        The run's own time starts later than the call; the final value is never lower than one shown before.
        """
        counted = self.usage.seconds if self.finished else 0.0
        if self.since is None:
            return counted
        until = (self.now or self.since) if self.over else self.waiting_since or now
        return max(counted, until - self.since - self.waited)

    def find(self, candidate: str) -> tuple[Section, Attempt] | tuple[None, None]:
        """Return the candidate with this id, and the planned subtask that it is for, or the solution."""
        for section in (*self.planned, self.solution_section):
            if attempt := section.attempts.get(candidate):
                return section, attempt
        return None, None


def offered_code(code: str | None, verdict: Verdict) -> str | None:
    """Return code that may be offered to the user: none that failed, and joined snippets with a comment about them."""
    if not code or verdict.outcome == "unsolved":
        return None
    if verdict.outcome == "stopped":
        return f"# not run as a whole: {' '.join(verdict.reason.split())}\n{code}"
    return code


def _sort_key(attempt: Attempt) -> tuple[int, int, list[int], str]:
    candidate = attempt.candidate
    return attempt.era, candidate.round, [int(number) for number in re.findall(r"\d{1,9}", candidate.id)], candidate.id
