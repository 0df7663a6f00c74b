"""The final solution of a run, and outputs as cells show them: complete, and sanitized once for each observation."""

from __future__ import annotations

from exploracoder_jupyter.core.run_state import SOLUTION, RunState
from exploracoder_jupyter.core.types import Observation, Output, Solution
from exploracoder_jupyter.trace.sanitizing.output_sanitizer import sanitize


class SanitizedOutputs:
    """Sanitizes outputs, and caches them as long as it exists, because a cell is rendered many times."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[Observation, tuple[Output, ...]]] = {}
        """By the identity of the observation, which is kept here so that no other one gets its identity."""

    def __call__(self, observation: Observation | None) -> tuple[Output, ...]:
        """Return the sanitized outputs of an observation; none without one."""
        if observation is None:
            return ()
        if id(observation) not in self._cache:
            self._cache[id(observation)] = observation, sanitized_outputs(observation)
        return self._cache[id(observation)][1]


def sanitized_outputs(observation: Observation) -> tuple[Output, ...]:
    """Return the sanitized outputs of an observation, including its error, and the note of a failure."""
    return sanitize(_with_error_output(observation))


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


def final_solution(run: RunState) -> Solution | None:
    """Return the solution that is given to the user; `None` if it failed its check or did not run."""
    finished = run.finished
    if finished is None or finished.solution is None or finished.verdict.outcome == "unsolved":
        return None
    observation = observation_of(run, finished.solution)
    failed = observation and not observation.ran
    return None if failed or not finished.solution.code.strip() else finished.solution


def solution_outputs(run: RunState) -> tuple[Output, ...]:
    """Return what the final solution showed when it ran, sanitized; nothing if it was not run."""
    solution = final_solution(run)
    observation = observation_of(run, solution) if solution else None
    return sanitized_outputs(observation) if observation else ()


def observation_of(run: RunState, solution: Solution) -> Observation | None:
    """Return the observation of the solution's candidate, if it was run."""
    section = run.sections.get(SOLUTION)
    attempt = section.attempts.get(solution.candidate) if section else None
    return attempt.observation if attempt else None
