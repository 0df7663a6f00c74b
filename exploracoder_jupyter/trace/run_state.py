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
"""Id of the section that holds the solutions; no subtask has it."""
PLAN = "plan"
"""What a search for the plan is for."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and what has become of it."""

    candidate: Candidate
    observation: Observation | None = None
    outputs: tuple[Output, ...] = ()
    """Sanitized; with the error, and the note of a failure."""
    apis: tuple[str, ...] = ()
    era: int = 0
    """How often its section had been begun anew before it was proposed."""

    @property
    def has_cell(self) -> bool:
        """Whether there is code of its own to show."""
        candidate = self.candidate
        return not (candidate.problem or candidate.duplicate_of) and bool(candidate.code.strip())


@dataclass(frozen=True, slots=True)
class Shown:
    """What a solution gave for a generated input."""

    given: InventedInput
    observation: Observation
    outputs: tuple[Output, ...]
    """Sanitized; with the error, and the note of a failure."""
    usable: bool = True
    """False where the input failed by itself."""


@dataclass(frozen=True, slots=True)
class Round:
    """A solution's trial on the generated inputs, and what was said of it."""

    shown: tuple[Shown, ...]
    judgement: Judgement | None = None

    def judged(self, input: str) -> Ruling | None:
        """What was said of one input: by name, else with the whole, which may be wrong because of another input."""
        if self.judgement is None:
            return None
        named = [opinion.ruling for opinion in self.judgement.opinions if opinion.input == input]
        whole = self.judgement.ruling if self.judgement.ruling == "right" or len(self.shown) == 1 else None
        return named[-1] if named else whole


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
    era: int = 0
    """How often it was begun anew, because the user went back to it or to one before it."""
    wishes: tuple[Steered, ...] = ()
    """Why it was begun anew, where the user named it."""
    inputs: tuple[InventedInput, ...] = ()
    """Generated inputs on which solutions are tried."""
    rounds: Mapping[str, Round] = field(default_factory=dict)
    """The trials on them, by the id of the solution."""
    searches: tuple[KnowledgeSearched, ...] = ()
    """What was searched for it."""
    lookups: tuple[LookedUp, ...] = ()
    """What the model asked for while it wrote."""

    @property
    def ordered(self) -> list[Attempt]:
        """The attempts by era, debug round and number, whichever came first."""
        return sorted(self.attempts.values(), key=_order)

    @property
    def selected(self) -> Attempt | None:
        """The attempt carried forward."""
        return self.attempts.get(self.selection.candidate) if self.selection else None

    @property
    def settled(self) -> bool:
        """Whether it is decided which attempt is carried forward, if any."""
        return self.selection is not None or self.status in ("done", "failed", "skipped")

    def carried(self, attempt: Attempt) -> bool | None:
        """Whether the attempt is carried forward; `None` while that is undecided."""
        if self.settled:
            return attempt is self.selected
        return None if attempt.era == self.era else False

    def given_up(self, attempt: Attempt) -> bool:
        """Whether the attempt was still to be run when it was decided that it need not be."""
        return attempt.observation is None and self.carried(attempt) is False


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
    searches: tuple[KnowledgeSearched, ...] = ()
    """Those for the plan."""
    current: str | None = None
    """Id of the section that the run is at."""
    reviewing: bool = False
    """Whether the plan waits for the user's word."""
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
            begun = replace(_section(run, id), started=True, status="exploring", apis=docs, selection=None)
            return replace(_with_section(run, begun), current=id)
        case CandidateProposed(candidate=candidate):
            return _propose(run, candidate)
        case CandidateObserved():
            return _observe(run, event)
        case CandidateSelected(selection=selection):
            return _with_section(run, replace(_section(run, selection.subtask), selection=selection))
        case KnowledgeSearched():
            return _search(run, event)
        case LookedUp(subject=subject):
            section = _section_of(run, subject)
            return _with_section(run, replace(section, lookups=(*section.lookups, event))) if section else run
        case InputsInvented(inputs=inputs):
            return _with_section(run, replace(_section(run, SOLUTION), inputs=inputs))
        case SolutionTested():
            return _test(run, event)
        case SolutionJudged():
            return _judge(run, event)
        case SubtaskFinished():
            return _end_subtask(run, event)
        case ReviewAsked():
            return replace(run, reviewing=True)
        case Steered(what="retry" | "choose"):
            return _go_back(run, event)
        case Steered(what="replan"):
            return replace(run, reviewing=False)
        case _:
            return run


def _section(run: Run, id: str) -> Section:
    found = run.sections.get(id)
    return found or Section(Subtask(id, "Solution" if id == SOLUTION else ""), started=id == SOLUTION)


def _with_section(run: Run, section: Section) -> Run:
    return replace(run, sections={**run.sections, section.subtask.id: section})


def _section_of(run: Run, subject: str) -> Section | None:
    """The section of a subtask, of the solution, or of a candidate."""
    if subject == SOLUTION or subject in run.sections:
        return _section(run, subject)
    return next((section for section in run.sections.values() if subject in section.attempts), None)


def _search(run: Run, event: KnowledgeSearched) -> Run:
    if event.subject == PLAN:
        return replace(run, searches=(*run.searches, event))
    section = _section_of(run, event.subject)
    return _with_section(run, replace(section, searches=(*section.searches, event))) if section else run


def _end_subtask(run: Run, event: SubtaskFinished) -> Run:
    section = _section(run, event.subtask)
    selection = None if event.status == "skipped" else section.selection
    return _with_section(run, replace(section, status=event.status, reason=event.reason, selection=selection))


def _go_back(run: Run, event: Steered) -> Run:
    """The run before a subtask: it and what follows it are begun anew; what was tried stays on record."""
    if event.subtask not in run.sections:
        return run
    ids = [section.subtask.id for section in run.subtasks]
    later = {id: _anew(run.sections[id]) for id in ids[ids.index(event.subtask) + 1 :] if _is_planned(run, id)}
    section = _anew(run.sections[event.subtask])
    section = replace(section, started=True, status="exploring", wishes=(*section.wishes, event))
    solution = {SOLUTION: _anew(run.sections[SOLUTION])} if SOLUTION in run.sections else {}
    sections = {**run.sections, event.subtask: section, **later, **solution}
    return replace(run, sections=sections, current=event.subtask)


def _is_planned(run: Run, id: str) -> bool:
    return run.plan is None or any(subtask.id == id for subtask in run.plan.subtasks)


def _anew(section: Section) -> Section:
    return replace(section, status="planned", reason="", selection=None, era=section.era + 1)


def _with_plan(run: Run, event: PlanMade) -> Run:
    planned = {subtask.id: replace(_section(run, subtask.id), subtask=subtask) for subtask in event.plan.subtasks}
    begun = {id: _left_out(section) for id, section in run.sections.items() if _begun(section) and id not in planned}
    reasons = (*run.revisions, event.reason) if event.plan.revision else run.revisions
    return replace(run, plan=event.plan, revisions=reasons, sections=_in_order(run.sections, begun, planned))


def _left_out(section: Section) -> Section:
    """A section that the plan has no more, but that something was tried for."""
    if section.subtask.id == SOLUTION or section.status != "planned":
        return section
    return replace(section, status="skipped", reason="no longer planned")


def _in_order(
    before: Iterable[str], begun: Mapping[str, Section], planned: Mapping[str, Section]
) -> dict[str, Section]:
    """The planned sections in the plan's order, each one that was begun behind what it stood behind: cells keep their
    places."""
    order = list(planned)
    place = 0
    for id in before:
        if id in begun:
            order.insert(place, id)
        place = order.index(id) + 1 if id in order else place
    return {id: begun[id] if id in begun else planned[id] for id in order}


def _begun(section: Section) -> bool:
    return section.started or section.status != "planned"


def _propose(run: Run, candidate: Candidate) -> Run:
    run = replace(run, current=candidate.subtask)
    return _with_attempt(run, Attempt(candidate, era=_section(run, candidate.subtask).era))


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


def _test(run: Run, event: SolutionTested) -> Run:
    section = _section(run, SOLUTION)
    known = {given.id: given for given in section.inputs}
    shown = tuple(
        Shown(
            known.get(item.input, InventedInput(item.input, item.input)),
            item.observation,
            sanitize(_recorded(item.observation)),
            item.usable,
        )
        for item in event.results
    )
    run = replace(run, usage=run.usage + Usage(executions=len(shown)))
    return _with_section(run, replace(section, rounds={**section.rounds, event.candidate: Round(shown)}))


def _judge(run: Run, event: SolutionJudged) -> Run:
    section = _section(run, SOLUTION)
    judged = replace(section.rounds.get(event.candidate, Round(())), judgement=event.judgement)
    return _with_section(run, replace(section, rounds={**section.rounds, event.candidate: judged}))


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
    run = replace(run, finished=event, usage=event.usage, reviewing=False)
    return _with_section(run, _section(run, SOLUTION)) if event.solution else run


def _order(attempt: Attempt) -> tuple[int, int, list[int], str]:
    candidate = attempt.candidate
    return attempt.era, candidate.round, [int(number) for number in re.findall(r"\d{1,9}", candidate.id)], candidate.id
