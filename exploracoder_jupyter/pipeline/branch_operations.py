"""What is done with branches beside running code in them: keeping their files, and meeting a change of their making.

A branch may turn out to hang because of what the forked kernel had loaded. Then branches are made in another way from
there on, and what was observed in the old ones is observed anew: candidates of a subtask are compared with one
another, so all of them have to start alike.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.events import FilesKept, Notice
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.step_context import Run

MOST_CHANGES = 2
"""How often the making of branches may change within one subtask."""

_AGAIN = "Run again in a branch made in another way."


def notify_branching_change(run: Run, change: BranchingChanged) -> None:
    """Tell the user why branches are made in another way, and what they lack now."""
    run.emit(Notice(f"{change.message} {run.unsent}".strip(), "warning"))


def mark_rerun(observation: Observation) -> Observation:
    """The observation, marked as one that replaces an earlier one of the same candidate."""
    return replace(observation, note=f"{observation.note} {_AGAIN}".strip())


async def keep_files(run: Run, branch: Branch) -> None:
    """Copy what the solution wrote out of its branch, where that was asked for, in place of what an earlier one wrote.
    A failure is told, and costs nothing else."""
    if run.files is None:
        return
    try:
        if run.agenda.files_kept:  # of a solution that has been corrected since
            shutil.rmtree(run.files)
        files = await branch.files(run.files)
    except (OSError, KernelError) as error:
        run.emit(Notice(f"The files of the solution could not be kept: {error}.", "warning"))
        return
    run.agenda.files_kept = True
    run.emit(FilesKept(str(run.files), files))
