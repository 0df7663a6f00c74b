"""Decides when a run should stop early because the same failure keeps recurring (future work of the paper)."""

from __future__ import annotations

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.pipeline.exploring.failure_kinds import failure_kind
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.step_context import Run, State


class Futile(ExploraError):
    """Exploration cannot succeed; the message states why."""


@heuristic("checking whether to stop", lambda run, state: None)
def stop_if_futile(run: Run, state: State) -> None:
    """Raise Futile if exploration is hopeless.

    That is when the last two subtasks got no code or failed in the same way, or when the library cannot be imported at
    all.
    """
    if len(state.no_code_problems) > 1:
        if run.model.name == OFFLINE:
            raise Futile("The offline model found no documented calls for two subtasks in a row.")
        raise Futile(f"The model gave no code for two subtasks in a row: {state.no_code_problems[-1]}")
    if not state.experience or state.experience[-1].observation.ran:
        return
    last = state.experience[-1]
    error = last.observation.error
    roots = {info.name.partition(".")[0] for info in run.knowledge.libraries}
    if error and error.name == "ModuleNotFoundError" and any(f"'{root}'" in error.message for root in roots):
        raise Futile(f"Every candidate failed to import the library: {error.headline}.")
    before = state.experience[-2] if len(state.experience) > 1 else None
    if before and not before.observation.ran and failure_kind(before) == failure_kind(last):
        raise Futile(f"Two subtasks in a row failed in the same way: {failure_kind(last)}.")
