"""One line of plain text per event, for a standard error that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from exploracoder_jupyter.cli.terminal.standard_streams import plain
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    Event,
    FilesKept,
    InputsInvented,
    KnowledgeSearched,
    LibraryRead,
    LookedUp,
    ModelCalled,
    Notice,
    PlanMade,
    Progress,
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
from exploracoder_jupyter.core.truncate import one_line
from exploracoder_jupyter.core.types import Candidate, Exchange, InputRun, Observation, Plan, Status
from exploracoder_jupyter.core.wording import plural

_WORDS: dict[Status, str] = {
    "ok": "ran",
    "error": "failed",
    "timeout": "ran out of time",
    "died": "lost its kernel",
    "interrupted": "was interrupted",
}

_MOST_TITLE = 120
_INTERRUPTED = "interrupted"
"""The problem of an exchange that was given up because the run ended."""


class Lines:
    """Takes records in order and writes a line for each that is worth one."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began: float | None = None
        self._titles: dict[str, str] = {}
        self._problems: set[str] = set()

    def __call__(self, record: Record) -> None:
        """Take the next record."""
        self._began = record.at if self._began is None else self._began
        text = _text(record.event, self._titles)
        if isinstance(record.event, PlanMade):
            self._titles |= {subtask.id: subtask.title for subtask in record.event.plan.subtasks}
        if text and self._is_news(record.event):
            self._write(f"[{record.at - self._began:6.1f}s] {' '.join(plain(text).split())}")

    def _is_news(self, event: Event) -> bool:
        """What is wrong with replies is told once: a model that answers with nothing does so again and again."""
        problem = _problem(event)
        if not problem:
            return True
        known = problem in self._problems
        self._problems.add(problem)
        return not known


def _problem(event: Event) -> str | None:
    match event:
        case ModelCalled():
            return event.exchange.problem
        case CandidateProposed():
            return event.candidate.problem
        case _:
            return None


def _text(event: Event, titles: Mapping[str, str]) -> str | None:
    match event:
        case RunStarted():
            return f"Model: {event.model}. Isolation: {event.environment.confinement}."
        case Progress():
            return f"{event.what}." if event.done == 0 else None
        case Notice():
            return event.text
        case LibraryRead():
            names = ", ".join(library.titled for library in event.libraries)
            return f"Read {names}: {plural(event.apis, 'API')}."
        case Estimated():
            return f"Expected cost: {event}."
        case PlanMade():
            return _plan(event.plan, event.reason, titles)
        case SubtaskStarted():
            return f"Subtask {event.subtask}: {one_line(titles.get(event.subtask, ''), _MOST_TITLE)}"
        case CandidateProposed():
            return _proposed(event.candidate)
        case CandidateObserved():
            return _observed(event.candidate, event.observation)
        case CandidateSelected():
            reasons = "; ".join(event.selection.reasons)
            return f"Candidate {event.selection.candidate} is carried forward: {reasons}."
        case SubtaskFinished():
            return f"Subtask {event.subtask} {event.status}{': ' if event.reason else '.'}{event.reason}"
        case ReviewAsked():
            return "The plan waits for review."
        case Steered():
            return _steered(event)
        case ModelCalled():
            return _called(event.exchange)
        case KnowledgeSearched():
            return _searched(event) if event.round else None
        case LookedUp():
            return f"Looked up: {event.argument}"
        case FilesKept():
            return (
                f"The solution wrote {plural(len(event.files), 'file')}, kept in {event.folder}."
                if event.files
                else None
            )
        case InputsInvented():
            return f"Inputs to try solutions on: {'; '.join(item.title for item in event.inputs)}."
        case SolutionTested():
            return _tested(event.candidate, event.results)
        case SolutionJudged():
            return f"Solution {event.candidate} was judged {event.judgement.said}."
        case RunFinished():
            return None  # the command itself ends with the verdict, or with the error that made it


def _searched(event: KnowledgeSearched) -> str:
    found = [*event.apis[:3], *(f"“{item.title}”" for item in event.passages[:2])]
    told = f"found {', '.join(found)}" if found else "found nothing"
    return f"Searched again after {event.subject} ({event.made_of}): {told}."


def _tested(candidate: str, results: Sequence[InputRun]) -> str:
    ran = sum(item.observation.ran for item in results)
    return f"Solution {candidate} ran to its end on {ran} of {plural(len(results), 'generated input')}."


def _steered(event: Steered) -> str:
    what = {
        "skip": f"skip subtask {event.subtask}",
        "retry": f"explore subtask {event.subtask} again",
        "choose": f"go on from candidate {event.candidate}",
        "replan": "another plan",
    }
    return f"The user asked: {what[event.what]}{f' ({event.hint})' if event.hint else ''}."


def _called(exchange: Exchange) -> str | None:
    """Only replies are told: without one the run was stopped, or ends with the error that the command then shows."""
    told = exchange.replies and exchange.problem not in ("", _INTERRUPTED)
    return f"The model's reply had a problem: {exchange.problem}" if told else None


def _plan(plan: Plan, reason: str, known: Mapping[str, str]) -> str:
    """Titles are told whole, and once."""
    kept = [subtask.id for subtask in plan.subtasks if known.get(subtask.id) == subtask.title]
    steps = [f"{', '.join(kept)} as before"] if kept else []
    steps += [f"{subtask.id} {subtask.title}" for subtask in plan.subtasks if subtask.id not in kept]
    return f"{'Plan revised' if plan.revision else 'Plan'}{f' ({reason})' if reason else ''}: {'; '.join(steps)}"


def _proposed(candidate: Candidate) -> str | None:
    """Only what will not run is told here; the rest is told when it has run."""
    if candidate.problem:
        return f"Candidate {candidate.id} has no code: {candidate.problem}"
    return f"Candidate {candidate.id} is the same as {candidate.duplicate_of}." if candidate.duplicate_of else None


def _observed(candidate: str, observation: Observation) -> str:
    reason = observation.error.headline if observation.error else observation.note
    told = f": {reason}" if reason and not observation.ran else "."
    return f"Candidate {candidate} {_WORDS[observation.status]}{told}"
