"""The state of a run, computed as a pure fold over its records.

`fold(run, record)` returns the next `Run`; cells, trace and summary are computed from it alone. Outputs are sanitized
here, once, when they arrive. The fold is lenient: an event about an unknown subtask or candidate creates it or is
ignored, so that a journal with gaps still opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    FilesKept,
    InputsInvented,
    KnowledgeSearched,
    LibraryRead,
    LookedUp,
    ModelCalled,
    Notice,
    PlanMade,
    Record,
    ReviewAsked,
    RunFinished,
    RunStarted,
    SolutionJudged,
    SolutionTested,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
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
    Subtask,
    SubtaskStatus,
    Usage,
)
from exploracoder_jupyter.trace.sanitizing.output_sanitizer import sanitize

SOLUTION = "solution"
"""Id of the section with the solutions; no subtask has this id."""
PLAN = "plan"
"""Subject of a search made for the plan."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and its result."""

    candidate: Candidate
    observation: Observation | None = None
    outputs: tuple[Output, ...] = ()
    """Sanitized; includes the error, and the note of a failure."""
    apis: tuple[str, ...] = ()
    era: int = 0
    """How often its section had been restarted before it was proposed."""

    @property
    def has_cell(self) -> bool:
        """Whether it has code to show that is not a duplicate."""
        candidate = self.candidate
        return not (candidate.problem or candidate.duplicate_of) and bool(candidate.code.strip())


@dataclass(frozen=True, slots=True)
class InputResult:
    """The result of a solution on a generated input."""

    given: InventedInput
    observation: Observation
    outputs: tuple[Output, ...]
    """Sanitized; includes the error, and the note of a failure."""
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
    selection: Selection | None = None
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    era: int = 0
    """How often it was restarted because the user went back to it or to an earlier one."""
    wishes: tuple[Steered, ...] = ()
    """The user's requests that restarted this very section."""
    inputs: tuple[InventedInput, ...] = ()
    """Generated inputs on which solutions are tested."""
    rounds: Mapping[str, InputRound] = field(default_factory=dict)
    """The results on these inputs, by the id of the solution."""
    searches: tuple[KnowledgeSearched, ...] = ()
    """Searches made for it."""
    lookups: tuple[LookedUp, ...] = ()
    """Look-ups that the model requested while writing code."""

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
class Run:
    """The state of a run after the records folded so far."""

    started: RunStarted | None = None
    started_at: float = 0.0
    now: float = 0.0
    """Time of the last record."""
    library: LibraryRead | None = None
    estimate: Estimated | None = None
    plan: Plan | None = None
    revisions: tuple[str, ...] = ()
    """Reasons of the plan's revisions, in order."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    """Notices from before the first subtask."""
    searches: tuple[KnowledgeSearched, ...] = ()
    """Searches made for the plan."""
    current: str | None = None
    """Id of the section that is being worked on."""
    reviewing: bool = False
    """Whether the plan is waiting for the user's review."""
    usage: Usage = field(default_factory=Usage)
    files: FilesKept | None = None
    """Files that the solution wrote, if they were kept."""
    finished: RunFinished | None = None

    @property
    def run_id(self) -> str:
        """Eight hexadecimal digits; zeros while unknown."""
        return self.started.run_id if self.started else "0" * 8

    @property
    def subtasks(self) -> list[Section]:
        """The sections of planned and already started subtasks, in order."""
        return [section for id, section in self.sections.items() if id != SOLUTION]


def fold_all(records: Iterable[Record]) -> Run:
    """Return the state of a run after all of these records."""
    return reduce(fold, records, Run())


def fold(run: Run, record: Record) -> Run:
    """Return the state of a run after one more record."""
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
            return _fold_finish(run, event)
        case PlanMade():
            return _with_plan(run, event)
        case SubtaskStarted(subtask=id, apis=apis):
            docs = tuple(scored.api for scored in apis)
            section = replace(_section_with_id(run, id), started=True, status="exploring", apis=docs, selection=None)
            return replace(_with_section(run, section), current=id)
        case CandidateProposed(candidate=candidate):
            return _fold_candidate(run, candidate)
        case CandidateObserved():
            return _fold_observation(run, event)
        case CandidateSelected(selection=selection):
            return _with_section(run, replace(_section_with_id(run, selection.subtask), selection=selection))
        case KnowledgeSearched():
            return _fold_search(run, event)
        case LookedUp(subject=subject):
            found = _section_of(run, subject)
            return _with_section(run, replace(found, lookups=(*found.lookups, event))) if found else run
        case InputsInvented(inputs=inputs):
            return _with_section(run, replace(_section_with_id(run, SOLUTION), inputs=inputs))
        case SolutionTested():
            return _fold_test(run, event)
        case SolutionJudged():
            return _fold_judgement(run, event)
        case SubtaskFinished():
            return _fold_subtask_end(run, event)
        case ReviewAsked():
            return replace(run, reviewing=True)
        case Steered(what="retry" | "choose"):
            return _restart_from(run, event)
        case Steered(what="replan"):
            return replace(run, reviewing=False)
        case _:
            return run


def _section_with_id(run: Run, id: str) -> Section:
    found = run.sections.get(id)
    return found or Section(Subtask(id, "Solution" if id == SOLUTION else ""), started=id == SOLUTION)


def _with_section(run: Run, section: Section) -> Run:
    return replace(run, sections={**run.sections, section.subtask.id: section})


def _section_of(run: Run, subject: str) -> Section | None:
    """Return the section of a subtask, of the solution, or of a candidate."""
    if subject == SOLUTION or subject in run.sections:
        return _section_with_id(run, subject)
    return next((section for section in run.sections.values() if subject in section.attempts), None)


def _fold_search(run: Run, event: KnowledgeSearched) -> Run:
    if event.subject == PLAN:
        return replace(run, searches=(*run.searches, event))
    section = _section_of(run, event.subject)
    return _with_section(run, replace(section, searches=(*section.searches, event))) if section else run


def _fold_subtask_end(run: Run, event: SubtaskFinished) -> Run:
    section = _section_with_id(run, event.subtask)
    selection = None if event.status == "skipped" else section.selection
    return _with_section(run, replace(section, status=event.status, reason=event.reason, selection=selection))


def _restart_from(run: Run, event: Steered) -> Run:
    """Restart a subtask and everything after it. Earlier attempts stay recorded."""
    if event.subtask not in run.sections:
        return run
    ids = [section.subtask.id for section in run.subtasks]
    later = {id: _restarted(run.sections[id]) for id in ids[ids.index(event.subtask) + 1 :] if _is_planned(run, id)}
    section = _restarted(run.sections[event.subtask])
    section = replace(section, started=True, status="exploring", wishes=(*section.wishes, event))
    solution = {SOLUTION: _restarted(run.sections[SOLUTION])} if SOLUTION in run.sections else {}
    sections = {**run.sections, event.subtask: section, **later, **solution}
    return replace(run, sections=sections, current=event.subtask)


def _is_planned(run: Run, id: str) -> bool:
    return run.plan is None or any(subtask.id == id for subtask in run.plan.subtasks)


def _restarted(section: Section) -> Section:
    return replace(section, status="planned", reason="", selection=None, era=section.era + 1)


def _with_plan(run: Run, event: PlanMade) -> Run:
    planned = {
        subtask.id: replace(_section_with_id(run, subtask.id), subtask=subtask) for subtask in event.plan.subtasks
    }
    dropped = {
        id: _mark_unplanned(section)
        for id, section in run.sections.items()
        if _has_started(section) and id not in planned
    }
    reasons = (*run.revisions, event.reason) if event.plan.revision else run.revisions
    return replace(run, plan=event.plan, revisions=reasons, sections=_merge_sections(run.sections, dropped, planned))


def _mark_unplanned(section: Section) -> Section:
    """Mark a started section that the new plan no longer contains as skipped."""
    if section.subtask.id == SOLUTION or section.status != "planned":
        return section
    return replace(section, status="skipped", reason="no longer planned")


def _merge_sections(
    before: Iterable[str], dropped: Mapping[str, Section], planned: Mapping[str, Section]
) -> dict[str, Section]:
    """Merge dropped sections into the planned ones.

    Each dropped section stays behind its former predecessor, so that cells keep their positions.
    """
    order = list(planned)
    place = 0
    for id in before:
        if id in dropped:
            order.insert(place, id)
        place = order.index(id) + 1 if id in order else place
    return {id: dropped[id] if id in dropped else planned[id] for id in order}


def _has_started(section: Section) -> bool:
    return section.started or section.status != "planned"


def _fold_candidate(run: Run, candidate: Candidate) -> Run:
    run = replace(run, current=candidate.subtask)
    return _with_attempt(run, Attempt(candidate, era=_section_with_id(run, candidate.subtask).era))


def _with_attempt(run: Run, attempt: Attempt) -> Run:
    section = _section_with_id(run, attempt.candidate.subtask)
    attempts = {**section.attempts, attempt.candidate.id: attempt}
    return _with_section(run, replace(section, attempts=attempts, started=True))


def _fold_observation(run: Run, event: CandidateObserved) -> Run:
    run = replace(run, usage=run.usage + Usage(executions=1))
    for section in run.sections.values():
        if attempt := section.attempts.get(event.candidate):
            outputs = sanitize(_with_error_output(event.observation))
            return _with_attempt(run, replace(attempt, observation=event.observation, outputs=outputs, apis=event.apis))
    return run


def _fold_test(run: Run, event: SolutionTested) -> Run:
    section = _section_with_id(run, SOLUTION)
    inputs = {given.id: given for given in section.inputs}
    shown = tuple(
        InputResult(
            inputs.get(item.input, InventedInput(item.input, item.input)),
            item.observation,
            sanitize(_with_error_output(item.observation)),
            item.usable,
        )
        for item in event.results
    )
    run = replace(run, usage=run.usage + Usage(executions=len(shown)))
    return _with_section(run, replace(section, rounds={**section.rounds, event.candidate: InputRound(shown)}))


def _fold_judgement(run: Run, event: SolutionJudged) -> Run:
    section = _section_with_id(run, SOLUTION)
    judged = replace(section.rounds.get(event.candidate, InputRound(())), judgement=event.judgement)
    return _with_section(run, replace(section, rounds={**section.rounds, event.candidate: judged}))


def _with_error_output(observation: Observation) -> list[Output]:
    """Return the outputs, with the error and the note of a failure added if the kernel could not send them."""
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
    section = _section_with_id(run, run.current)
    return _with_section(run, replace(section, notices=(*section.notices, notice)))


def _fold_finish(run: Run, event: RunFinished) -> Run:
    run = replace(run, finished=event, usage=event.usage, reviewing=False)
    return _with_section(run, _section_with_id(run, SOLUTION)) if event.solution else run


def _sort_key(attempt: Attempt) -> tuple[int, int, list[int], str]:
    candidate = attempt.candidate
    return attempt.era, candidate.round, [int(number) for number in re.findall(r"\d{1,9}", candidate.id)], candidate.id
