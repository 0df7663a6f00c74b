"""Adds to a state what the process that started the run knows of its end: the engine's summary, or why it broke
off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import get_args

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state.run_wording import describe_activity
from exploracoder_jupyter.core.run_state.state import SOLUTION, Attempt, InputResult, InputRound, RunState, Section
from exploracoder_jupyter.core.types import InventedInput, Outcome, Selection, Solution, Subtask, Usage, Verdict
from exploracoder_jupyter.core.validation import JsonValue

# Computes the state of a run as a pure fold over its records.
#
# The fold is lenient: an event about an unknown subtask or candidate creates it or is ignored, so that a journal
# with gaps still opens.

PLAN = "plan"
"""Subject of a search made for the plan."""


def fold_all(records: Iterable[events.Record]) -> RunState:
    """Return the state of a run after all of these records."""
    return reduce(fold, records, RunState())


def fold(state: RunState, record: events.Record) -> RunState:
    """Return the state of a run after one more record."""
    state = _fold_event(replace(state, now=max(state.now, record.at)), record)
    activity = describe_activity(state, record.event)
    return replace(state, activity=activity) if activity else state


def close(state: RunState) -> RunState:
    """Return the state of a run that has ended: nothing runs or waits for the user any more."""
    sections = {id: _abandon_running(section) for id, section in state.sections.items()}
    return replace(_end_wait(state), sections=sections)


def _fold_event(state: RunState, record: events.Record) -> RunState:
    event = record.event
    match event:
        case events.RunStarted():
            return replace(state, started=event, started_at=record.at, task=event.task)
        case events.LibraryRead():
            return replace(state, library=event)
        case events.Estimated():
            return replace(state, estimate=event)
        case events.Notice():
            return _with_notice(state, event)
        case events.ModelCalled():
            return replace(state, spent=state.spent + event.exchange.usage)
        case events.FilesKept():
            return replace(state, files=event)
        case events.RunFinished():
            ended = close(replace(state, finished=event))
            return _with_section(ended, _section_with_id(ended, SOLUTION)) if event.solution else ended
        case events.EffortChosen():
            tried = {id: _abandon_running(section) for id, section in state.sections.items()}
            return replace(state, efforts=(*state.efforts, event), sections=tried)
        case events.ReviewAsked():
            return replace(state, waiting_since=record.at)
        case _:
            return _fold_step(state, event)


def _fold_step(state: RunState, event: events.Event) -> RunState:
    match event:
        case events.PlanMade():
            return _with_plan(state, event)
        case events.SubtaskStarted(subtask=id, apis=apis):
            docs = tuple(scored.api for scored in apis)
            section = replace(_section_with_id(state, id), started=True, status="exploring", apis=docs, selection=None)
            return replace(_with_section(state, section), current=id)
        case events.CandidateProposed(candidate=candidate):
            if not candidate.edits:  # an edited candidate runs beside what the run is doing
                state = replace(state, current=candidate.subtask)
            return _with_attempt(state, Attempt(candidate, era=_section_with_id(state, candidate.subtask).era))
        case events.CandidateObserved():
            return _fold_observation(state, event)
        case events.CandidateSelected(selection=selection):
            return _fold_selection(state, selection)
        case events.KnowledgeSearched():
            return _fold_search(state, event)
        case events.LookedUp(subject=subject):
            found = _section_of(state, subject)
            return _with_section(state, replace(found, lookups=(*found.lookups, event))) if found else state
        case events.InputsInvented(inputs=inputs):
            return _with_section(state, replace(_section_with_id(state, SOLUTION), inputs=inputs))
        case events.SolutionTested():
            return _fold_test(state, event)
        case events.SolutionJudged():
            section = _section_with_id(state, SOLUTION)
            judged = replace(section.rounds.get(event.candidate, InputRound(())), judgement=event.judgement)
            return _with_section(state, replace(section, rounds={**section.rounds, event.candidate: judged}))
        case events.SubtaskFinished(status=status, reason=reason):
            section = _section_with_id(state, event.subtask)
            kept = None if status == "skipped" else section.selection
            return _with_section(state, replace(section, status=status, reason=reason, selection=kept))
        case events.Steered(what="retry" | "choose"):
            return _restart_from(state, event)
        case events.Steered(what="replan"):
            return _end_wait(state)
        case _:
            return state


def _section_with_id(state: RunState, id: str) -> Section:
    found = state.sections.get(id)
    return found or Section(Subtask(id, "Solution" if id == SOLUTION else ""), started=id == SOLUTION)


def _with_section(state: RunState, section: Section) -> RunState:
    return replace(state, sections={**state.sections, section.id: section})


def _section_of(state: RunState, subject: str) -> Section | None:
    if subject == SOLUTION or subject in state.sections:
        return _section_with_id(state, subject)
    return next((section for section in state.sections.values() if subject in section.attempts), None)


def _fold_search(state: RunState, event: events.KnowledgeSearched) -> RunState:
    if event.subject == PLAN:
        return replace(state, searches=(*state.searches, event))
    section = _section_of(state, event.subject)
    return _with_section(state, replace(section, searches=(*section.searches, event))) if section else state


def _restart_from(state: RunState, event: events.Steered) -> RunState:
    """Restart a subtask and everything after it. Earlier attempts stay recorded."""
    ids = [section.id for section in state.subtasks]
    if event.subtask not in ids:
        return state
    planned = ids if state.plan is None else [subtask.id for subtask in state.plan.subtasks]
    later = {id: _restarted(state.sections[id]) for id in ids[ids.index(event.subtask) + 1 :] if id in planned}
    section = _restarted(state.sections[event.subtask])
    section = replace(section, started=True, status="exploring", wishes=(*section.wishes, event), hint=event.hint)
    solution = {SOLUTION: _restarted(state.sections[SOLUTION])} if SOLUTION in state.sections else {}
    sections = {**state.sections, event.subtask: section, **later, **solution}
    return replace(state, sections=sections, current=event.subtask)


def _restarted(section: Section) -> Section:
    section = _abandon_running(section)
    return replace(section, status="planned", reason="", selection=None, hint="", era=section.era + 1)


def _abandon_running(section: Section) -> Section:
    running = {id: replace(one, abandoned=True) for id, one in section.attempts.items() if one.state == "running"}
    return replace(section, attempts={**section.attempts, **running}) if running else section


def _end_wait(state: RunState) -> RunState:
    if state.waiting_since is None:
        return state
    waited = state.waited + max(0.0, (state.now or state.waiting_since) - state.waiting_since)
    return replace(state, waited=waited, waiting_since=None)


def _with_plan(state: RunState, event: events.PlanMade) -> RunState:
    planned = {
        subtask.id: replace(_section_with_id(state, subtask.id), subtask=subtask) for subtask in event.plan.subtasks
    }
    dropped = {
        id: _mark_unplanned(section)
        for id, section in state.sections.items()
        if id not in planned and (section.started or section.status != "planned")
    }
    reasons = (*state.revisions, event.reason) if event.plan.revision else state.revisions
    sections = _merge_sections(state.sections, dropped, planned)
    return replace(state, plan=event.plan, revisions=reasons, sections=sections)


def _mark_unplanned(section: Section) -> Section:
    if section.id == SOLUTION or section.status != "planned":
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


def _fold_selection(state: RunState, selection: Selection) -> RunState:
    section = _section_with_id(state, selection.subtask)
    attempt = section.attempts.get(selection.candidate)
    if attempt and attempt.observation is None:
        section = replace(section, attempts={**section.attempts, attempt.id: replace(attempt, unexecuted=True)})
    return _with_section(state, replace(section, selection=selection))


def _with_attempt(state: RunState, attempt: Attempt) -> RunState:
    section = _section_with_id(state, attempt.candidate.subtask)
    attempts = {**section.attempts, attempt.id: attempt}
    return _with_section(state, replace(section, attempts=attempts, started=True))


def _fold_observation(state: RunState, event: events.CandidateObserved) -> RunState:
    state = replace(state, spent=state.spent + Usage(executions=1))
    for section in state.sections.values():
        if attempt := section.attempts.get(event.candidate):
            state = replace(state, last_observed=event.candidate)
            observed = replace(attempt, observation=event.observation, apis=event.apis, agrees_with=event.agrees_with)
            return _with_attempt(state, observed)
    return state


def _fold_test(state: RunState, event: events.SolutionTested) -> RunState:
    section = _section_with_id(state, SOLUTION)
    inputs = {given.id: given for given in section.inputs}
    shown = tuple(
        InputResult(inputs.get(item.input, InventedInput(item.input, item.input)), item.observation, item.usable)
        for item in event.results
    )
    state = replace(state, spent=state.spent + Usage(executions=len(shown)))
    return _with_section(state, replace(section, rounds={**section.rounds, event.candidate: InputRound(shown)}))


def _with_notice(state: RunState, notice: events.Notice) -> RunState:
    state = replace(state, notices=(*state.notices, notice))
    if state.current is None:
        return replace(state, opening_notices=(*state.opening_notices, notice))
    section = _section_with_id(state, state.current)
    return _with_section(state, replace(section, notices=(*section.notices, notice)))


def with_summary(state: RunState, summary: Mapping[str, JsonValue]) -> RunState:
    """Return the state after the engine's summary: with the path of the trace, and the verdict if no record has it."""
    state = replace(state, trace=str(summary.get("trace") or "") or state.trace)
    outcome = next((outcome for outcome in get_args(Outcome) if outcome == summary.get("status")), None)
    if state.finished or outcome is None:
        return state
    code, verdict = summary.get("solution"), Verdict(outcome, str(summary.get("reason") or ""))
    solution = Solution(code, "") if isinstance(code, str) else None
    return close(replace(state, finished=RunFinished(verdict, solution, state.spent)))


def with_failure(state: RunState, reason: str, *, at: float, stopped: bool = False) -> RunState:
    """Return the state of a run that could not be started, or that broke off `at` this time.

    `stopped` is set if the user stopped it. The reason names the trace if there is one.
    """
    if state.trace and state.trace not in reason:
        reason = f"{reason} The results so far are in {state.trace}; --resume continues from there."
    ended = close(replace(state, now=state.now if state.finished else at))
    return replace(ended, failure=reason, activity=reason, stopped=stopped)
