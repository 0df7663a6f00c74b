"""The metadata of each kind of generated cell, beside what all have in common (`cell_building`)."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, InputResult, InputRound, RunState, Section
from exploracoder_jupyter.core.types import Candidate, Observation, Solution

Fields: TypeAlias = dict[str, JsonValue]


def outcome_metadata(run: RunState) -> Fields:
    """Return how the run ended, or that it is running."""
    return {"status": run.finished.verdict.outcome if run.finished else "running"}


def subtask_metadata(subtask: str, status: str) -> Fields:
    """Return the fields of a subtask's heading."""
    return {"subtask": subtask, "status": status}


def candidate_metadata(run: RunState, section: Section, attempt: Attempt, *, selected: bool | None) -> Fields:
    """Return the fields of a candidate; `selected` is `None` while nothing is known of it."""
    candidate, observation = attempt.candidate, attempt.observation
    given_up = run.finished is not None or section.was_skipped(attempt)
    return {
        "subtask": candidate.subtask,
        "candidate": candidate.id,
        "round": candidate.round,
        "status": observation.status if observation else "interrupted" if given_up else "running",
        **_selected(selected),
        **_seconds(observation),
        **_model(run),
    }


def input_result_metadata(
    run: RunState, candidate: Candidate, round_: InputRound, shown: InputResult, *, selected: bool | None
) -> Fields:
    """Return the fields of the result of a solution on a generated input."""
    judged = round_.ruling_on(shown.given.id) if shown.usable else None
    return {
        "subtask": SOLUTION,
        "candidate": candidate.id,
        "input": shown.given.id,
        "round": candidate.round,
        "status": shown.observation.status,
        **({"judged": judged} if judged else {}),
        **_selected(selected),
        **_seconds(shown.observation),
        **_model(run),
    }


def judgement_metadata(candidate: str, round_: InputRound, *, selected: bool | None) -> Fields:
    """Return the fields of the judgement of a solution's results on generated inputs."""
    judged: Fields = {"judged": round_.judgement.ruling} if round_.judgement else {}
    return {"subtask": SOLUTION, "candidate": candidate, **judged, **_selected(selected)}


def solution_metadata(run: RunState, solution: Solution, observation: Observation | None) -> Fields:
    """Return the fields of the solution."""
    return {
        "candidate": solution.candidate,
        **outcome_metadata(run),
        "selected": True,
        **_model(run),
        **_seconds(observation),
    }


def patch_metadata(run: RunState, solution: Solution) -> Fields:
    """Return the fields of a solution that is a patch of a repository."""
    return {"candidate": solution.candidate, **outcome_metadata(run), **_model(run)}


def summary_metadata(run: RunState, finished: RunFinished) -> Fields:
    """Return the fields of the summary at the end of a trace."""
    seconds = round(max(run.now - run.started_at, 0), 3)
    return {"status": finished.verdict.outcome, "seconds": seconds, **_model(run)}


def _selected(selected: bool | None) -> Fields:
    return {} if selected is None else {"selected": selected}


def _seconds(observation: Observation | None) -> Fields:
    return {"seconds": round(observation.seconds, 3)} if observation else {}


def _model(run: RunState) -> Fields:
    return {"model": run.started.model} if run.started else {}
