"""What a run has come to: a pure fold over its records.

`fold(run, record)` gives the next `Run`; cells, trace and summary are computed from it and from nothing else. Outputs
are sanitized here, once, when they arrive. The fold is forgiving: an event about a subtask or candidate never heard of
makes one or is passed over, so that a journal with holes still opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from exploracoder_jupyter.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    FilesKept,
    LibraryRead,
    ModelCalled,
    Notice,
    PlanMade,
    Record,
    RunFinished,
    RunStarted,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.notebook.sanitize import sanitize
from exploracoder_jupyter.types import (
    ApiDoc,
    Candidate,
    Observation,
    Output,
    Plan,
    Selection,
    Subtask,
    SubtaskStatus,
    Usage,
)

SOLUTION = "solution"
"""Id of the section that holds the solutions; no subtask has it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and what has become of it."""

    candidate: Candidate
    observation: Observation | None = None
    outputs: tuple[Output, ...] = ()
    """Sanitized; with the error, and the note of a failure."""
    apis: tuple[str, ...] = ()

    @property
    def has_cell(self) -> bool:
        """Whether there is code of its own to show."""
        candidate = self.candidate
        return not (candidate.problem or candidate.duplicate_of) and bool(candidate.code.strip())


@dataclass(frozen=True, slots=True)
class Section:
    """A subtask, or the solution, with everything that belongs to it."""

    subtask: Subtask
    status: SubtaskStatus = "planned"
    reason: str = ""
    started: bool = False
    apis: tuple[ApiDoc, ...] = ()
    selection: Selection | None = None
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def ordered(self) -> list[Attempt]:
        """The attempts by debug round, then by number, whichever came first."""
        return sorted(self.attempts.values(), key=lambda attempt: _order(attempt.candidate))

    @property
    def selected(self) -> Attempt | None:
        """The attempt carried forward."""
        return self.attempts.get(self.selection.candidate) if self.selection else None

    @property
    def settled(self) -> bool:
        """Whether it is decided which attempt is carried forward, if any."""
        return self.selection is not None or self.status in ("done", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Run:
    """A run as far as its records tell."""

    started: RunStarted | None = None
    started_at: float = 0.0
    now: float = 0.0
    """Time of the last record."""
    library: LibraryRead | None = None
    estimate: Estimated | None = None
    plan: Plan | None = None
    revisions: tuple[str, ...] = ()
    """Why the plan was revised, in order."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    """Those from before the first subtask."""
    current: str | None = None
    """Id of the section that the run is at."""
    usage: Usage = field(default_factory=Usage)
    files: FilesKept | None = None
    """What the solution wrote, if it was kept."""
    finished: RunFinished | None = None

    @property
    def run_id(self) -> str:
        """Eight hexadecimal digits; zeros while unknown."""
        return self.started.run_id if self.started else "0" * 8

    @property
    def subtasks(self) -> list[Section]:
        """The sections of the plan's subtasks and of those already begun, in order."""
        return [section for id, section in self.sections.items() if id != SOLUTION]


def fold_all(records: Iterable[Record]) -> Run:
    """The run after all of these records."""
    return reduce(fold, records, Run())


def fold(run: Run, record: Record) -> Run:
    """The run after one more record."""
    return _fold_event(replace(run, now=max(run.now, record.at)), record)


def _fold_event(run: Run, record: Record) -> Run:
    event = record.event
    match event:
        case RunStarted():
            return replace(run, started=event, started_at=record.at)
        case LibraryRead():
            return replace(run, library=event)
        case Estimated():
            return replace(run, estimate=event)
        case Notice():
            return _with_notice(run, event)
        case ModelCalled():
            return replace(run, usage=run.usage + event.exchange.usage)
        case FilesKept():
            return replace(run, files=event)
        case RunFinished():
            return _finish(run, event)
        case PlanMade():
            return _with_plan(run, event)
        case SubtaskStarted(subtask=id, apis=apis):
            docs = tuple(scored.api for scored in apis)
            begun = replace(_section(run, id), started=True, status="exploring", apis=docs)
            return replace(_with_section(run, begun), current=id)
        case CandidateProposed(candidate=candidate):
            return _with_attempt(replace(run, current=candidate.subtask), Attempt(candidate))
        case CandidateObserved():
            return _observe(run, event)
        case CandidateSelected(selection=selection):
            return _with_section(run, replace(_section(run, selection.subtask), selection=selection))
        case SubtaskFinished(subtask=id, status=status, reason=reason):
            return _with_section(run, replace(_section(run, id), status=status, reason=reason))
        case _:
            return run


def _section(run: Run, id: str) -> Section:
    found = run.sections.get(id)
    return found or Section(Subtask(id, "Solution" if id == SOLUTION else ""), started=id == SOLUTION)


def _with_section(run: Run, section: Section) -> Run:
    return replace(run, sections={**run.sections, section.subtask.id: section})


def _with_plan(run: Run, event: PlanMade) -> Run:
    planned = {subtask.id: replace(_section(run, subtask.id), subtask=subtask) for subtask in event.plan.subtasks}
    begun = {id: planned.get(id, section) for id, section in run.sections.items() if _begun(section)}
    reasons = (*run.revisions, event.reason) if event.plan.revision else run.revisions
    return replace(run, plan=event.plan, revisions=reasons, sections={**begun, **planned})


def _begun(section: Section) -> bool:
    return section.started or section.status != "planned"


def _with_attempt(run: Run, attempt: Attempt) -> Run:
    section = _section(run, attempt.candidate.subtask)
    attempts = {**section.attempts, attempt.candidate.id: attempt}
    return _with_section(run, replace(section, attempts=attempts, started=True))


def _observe(run: Run, event: CandidateObserved) -> Run:
    run = replace(run, usage=run.usage + Usage(executions=1))
    for section in run.sections.values():
        if attempt := section.attempts.get(event.candidate):
            outputs = sanitize(_recorded(event.observation))
            return _with_attempt(run, replace(attempt, observation=event.observation, outputs=outputs, apis=event.apis))
    return run


def _recorded(observation: Observation) -> list[Output]:
    """The outputs with the error and the note of a failure, where the kernel could not send them itself."""
    outputs = list(observation.outputs)
    error = observation.error
    if error and not any(output.get("output_type") == "error" for output in outputs):
        trace = error.traceback.splitlines() or [error.headline]
        outputs.append({"output_type": "error", "ename": error.name, "evalue": error.message, "traceback": [*trace]})
    if observation.note and not observation.ran:
        outputs.append({"output_type": "stream", "name": "stderr", "text": f"[{observation.note}]\n"})
    return outputs


def _with_notice(run: Run, notice: Notice) -> Run:
    if run.current is None:
        return replace(run, notices=(*run.notices, notice))
    section = _section(run, run.current)
    return _with_section(run, replace(section, notices=(*section.notices, notice)))


def _finish(run: Run, event: RunFinished) -> Run:
    run = replace(run, finished=event, usage=event.usage)
    return _with_section(run, _section(run, SOLUTION)) if event.solution else run


def _order(candidate: Candidate) -> tuple[int, list[int], str]:
    return candidate.round, [int(number) for number in re.findall(r"\d{1,9}", candidate.id)], candidate.id
