"""Where a run took another course than a recorded one: what was tried, what came of it, what was carried forward."""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.notebook.state import SOLUTION, Attempt, Run, Section
from exploracoder_jupyter.pipeline.attempt import fingerprint
from exploracoder_jupyter.session.check.places import at_home
from exploracoder_jupyter.types import Observation

SAME = "It took the same course as the recorded run."


def course(now: Run, recorded: Run) -> str:
    """Where the run first went another way than the recorded one, which may have been cut off; one sentence."""
    return next(_differences(now, recorded), SAME)


def _differences(now: Run, recorded: Run) -> Iterator[str]:
    if _titles(now)[: len(_titles(recorded))] != _titles(recorded):
        yield "It took another course: the plan is another one."
    for id_, before in recorded.sections.items():
        yield from _in_section(now.sections.get(id_), before)
    ends = recorded.finished, now.finished
    if ends[0] and ends[1] and ends[0].verdict.outcome != ends[1].verdict.outcome:
        yield f"It took another course: it ended {ends[1].verdict.outcome}, not {ends[0].verdict.outcome}."


def _titles(run: Run) -> list[str]:
    return [subtask.title for subtask in run.plan.subtasks] if run.plan else []


def _in_section(now: Section | None, before: Section) -> Iterator[str]:
    """Candidates are told apart by their code: their numbers depend on which reply came first."""
    name = "the solution" if before.subtask.id == SOLUTION else f"subtask {before.subtask.id}"
    known = {_code(one): one for one in (now.ordered if now else ()) if one.observation}
    for attempt in before.ordered:
        if attempt.observation is None:
            continue
        again = known.get(_code(attempt))
        if again is None or again.observation is None:
            yield f"It took another course at {name}: candidate {attempt.candidate.id} was not tried."
        elif _outcome(again.observation) != _outcome(attempt.observation):
            outcomes = f"gave {_outcome(again.observation)}, not {_outcome(attempt.observation)}"
            yield f"It took another course at {name}: candidate {again.candidate.id} {outcomes}."
    if before.selected and _code(now.selected if now else None) != _code(before.selected):
        yield f"It took another course at {name}: {_selected(now)}, not {before.selected.candidate.id}."
    if now and before.settled and before.status != now.status:
        yield f"It took another course at {name}: it is {now.status}, not {before.status}."


def _selected(section: Section | None) -> str:
    """What was carried forward, and why that."""
    if section is None or section.selection is None:
        return "nothing was carried forward"
    return f"{section.selection.candidate} was carried forward ({'; '.join(section.selection.reasons)})"


def _outcome(observation: Observation) -> str:
    return observation.error.name if observation.error else observation.status


def _code(attempt: Attempt | None) -> str:
    return fingerprint(at_home(attempt.candidate.code)) if attempt else ""
