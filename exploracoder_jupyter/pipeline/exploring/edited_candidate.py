"""Runs a candidate that the user edited: a candidate of its own, from the state before its subtask.

It runs beside the present phase of the run and is not selected by itself; the user may then choose it like any other.
"""

from __future__ import annotations

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.events import CandidateObserved
from exploracoder_jupyter.core.types import Candidate, Observation, Subtask
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import Attempt
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.step_context import Run, State


async def run_edited(run: Run, state: State, subtask: Subtask, *, edited: str, code: str) -> None:
    """Run edited code in a fork of the state.

    Args:
        run: the run.
        state: the state before the subtask.
        subtask: the subtask.
        edited: id of the candidate whose code was edited.
        code: the code as it is now.
    """
    id_ = f"{subtask.id}.{run.agenda.next_number(subtask.id)}"
    candidate = Candidate(id_, subtask.id, code, parent=state.parent, edits=edited)
    attempt = Attempt.start(run, state, Search(run, subtask, state.retrieved))
    try:
        await attempt.try_candidate(candidate)
        await attempt.rerun_outdated()
    except KernelError as error:  # the run does not depend on this candidate
        run.emit(CandidateObserved(id_, Observation("interrupted", note=str(error))))
    finally:
        await attempt.close_losers(None)
