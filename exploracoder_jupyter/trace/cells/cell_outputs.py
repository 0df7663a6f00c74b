"""The outputs of an execution as a cell shows them: complete, and sanitized once for each observation."""

from __future__ import annotations

from exploracoder_jupyter.core.types import Observation, Output
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
