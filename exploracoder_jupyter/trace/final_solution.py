"""The solution of a run that is given to the user, and its outputs."""

from __future__ import annotations

from exploracoder_jupyter.core.run_state import SOLUTION, RunState, Section
from exploracoder_jupyter.core.types import Observation, Output, Solution
from exploracoder_jupyter.trace.cells.cell_outputs import sanitized_outputs


def final_solution(run: RunState) -> Solution | None:
    """Return the solution to give to the user; `None` if it failed its check or did not run."""
    finished = run.finished
    if finished is None or finished.solution is None or finished.verdict.outcome == "unsolved":
        return None
    section = run.sections.get(SOLUTION)
    observation = observation_of(section, finished.solution) if section else None
    failed = observation and not observation.ran
    return None if failed or not finished.solution.code.strip() else finished.solution


def solution_outputs(run: RunState) -> tuple[Output, ...]:
    """Return what the final solution showed when it ran, sanitized; nothing if it was not run."""
    solution, section = final_solution(run), run.sections.get(SOLUTION)
    observation = observation_of(section, solution) if solution and section else None
    return sanitized_outputs(observation) if observation else ()


def observation_of(section: Section, solution: Solution) -> Observation | None:
    """Return the observation of the solution's candidate, if it was run."""
    attempt = section.attempts.get(solution.candidate)
    return attempt.observation if attempt else None
