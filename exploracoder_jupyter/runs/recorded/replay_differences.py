"""Compares a replayed run with the recorded one: what was tried, with what result, and what was carried forward."""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.pipeline.exploring.candidate_runs import fingerprint
from exploracoder_jupyter.runs.recorded.resume_state import was_cut_off
from exploracoder_jupyter.runs.trace_check.relocated_paths import expand_home

SAME_COURSE = "It took the same course as the recorded run."
SAME_UNTIL_CUT_OFF = "It took the same course as the recorded run, as far as that came before it was cut off."
SAME_COURSES = (SAME_COURSE, SAME_UNTIL_CUT_OFF)


def compare_course(now: RunState, recorded: RunState) -> str:
    """Describe the first difference from the recorded run, and how the run ended; or return one of `SAME_COURSES`."""
    if first := next(_differences(now, recorded), ""):
        return f"It took another course at {first}.{_describe_end(now, recorded)}"
    return SAME_UNTIL_CUT_OFF if was_cut_off(recorded) else SAME_COURSE


def _differences(now: RunState, recorded: RunState) -> Iterator[str]:
    if _titles(now)[: len(_titles(recorded))] != _titles(recorded):
        yield "its beginning: the plan is different"
    for id_, before in recorded.sections.items():
        yield from _section_differences(now.sections.get(id_), before)
    if not was_cut_off(recorded) and _outcome_of(now) != _outcome_of(recorded):
        yield "its end"


def _describe_end(now: RunState, recorded: RunState) -> str:
    """Describe how both runs ended, if they did, as a sentence with a leading space."""
    if not now.finished or was_cut_off(recorded):
        return ""
    same = _outcome_of(now) == _outcome_of(recorded)
    return f" It ended {_outcome_of(now)}, {'as the recorded run did' if same else f'not {_outcome_of(recorded)}'}."


def _outcome_of(run: RunState) -> str:
    return run.finished.verdict.outcome if run.finished else ""


def _titles(run: RunState) -> list[str]:
    return [subtask.title for subtask in run.plan.subtasks] if run.plan else []


def _section_differences(now: Section | None, before: Section) -> Iterator[str]:
    """Yield the differences in one section.

    Candidates are matched by their code, because their numbers depend on which reply arrived first, and the example of
    a task by that of its program too.
    """
    name = "the solution" if before.subtask.id == SOLUTION else f"subtask {before.subtask.id}"
    by_code = {_session_fingerprint(now, one): one for one in (now.ordered if now else ()) if one.observation}
    for attempt in before.ordered:
        if attempt.observation is None:
            continue
        again = by_code.get(_session_fingerprint(before, attempt))
        if again is None or again.observation is None:
            yield f"{name}: candidate {attempt.candidate.id} was not tried"
            continue
        ended, was = _observation_outcome(again.observation), _observation_outcome(attempt.observation)
        if ended != was:
            yield f"{name}: candidate {again.candidate.id} ended with {ended}, not {was}"
    if before.selected and _code_fingerprint(now.selected if now else None) != _code_fingerprint(before.selected):
        carried = "nothing was carried forward"
        if now and now.selection:
            carried = f"{now.selection.candidate} was carried forward ({'; '.join(now.selection.reasons)})"
        yield f"{name}: {carried}, not {before.selected.candidate.id}"
    if now and before.settled and before.status != now.status:
        yield f"{name}: it is {now.status}, not {before.status}"


def _observation_outcome(observation: Observation) -> str:
    return observation.error.name if observation.error else observation.status


def _code_fingerprint(attempt: Attempt | None) -> str:
    return fingerprint(expand_home(attempt.candidate.code)) if attempt else ""


def _session_fingerprint(section: Section | None, attempt: Attempt) -> tuple[str, str]:
    """Return the fingerprints of an attempt and of that in the same section in whose state it ran."""
    program = section.attempts.get(attempt.candidate.parent) if section else None
    return _code_fingerprint(attempt), _code_fingerprint(program)
