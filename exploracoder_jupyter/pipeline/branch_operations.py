"""Branch operations besides running code: closing, copying files out, handling a change of the branching method.

A branch may hang because of something that the forked kernel had loaded. From then on branches are made with another
method, and everything observed in the old ones is observed again: candidates of a subtask are compared with one
another, so all of them have to start alike.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.events import FilesKept, Notice
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.step_context import Run

MOST_CHANGES = 2
"""How often the branching method may change within one subtask."""
OWN_END: Final = "The program ended itself with `sys.exit`, status 0."
_NO_FAULT: Final = ("", "0", "None", "False")
"""The text of a `SystemExit` whose status is 0."""


def notify_branching_change(run: Run, change: BranchingChanged) -> None:
    """Notify the user why branches are made with another method, and what they lack now."""
    run.emit(Notice(f"{change.message} {run.unsent}".strip(), "warning"))


def accept_own_end(seen: Observation) -> Observation:
    """Return what was seen of a program that ended itself with status 0, which in a script is not a failure, as `ok`.

    Not for a check: it has to come to its end.
    """
    if seen.status != "error" or seen.error is None or seen.error.name != "SystemExit":
        return seen
    if seen.error.message not in _NO_FAULT:
        return seen
    outputs = tuple(output for output in seen.outputs if output.get("ename") != "SystemExit")
    return replace(seen, status="ok", error=None, outputs=outputs, note=OWN_END)


async def close_branches(branches: Iterable[Branch]) -> None:
    """Close the branches, also while the run is being cancelled."""
    with anyio.CancelScope(shield=True):
        for branch in branches:
            await branch.close()


async def keep_files(run: Run, branch: Branch) -> None:
    """Copy the solution's files out of its branch if requested, replacing earlier ones; a failure is only a notice."""
    if run.files is None:
        return
    try:
        if run.agenda.files_kept:  # files of a solution that has been corrected since
            shutil.rmtree(run.files)
        files = await branch.files(run.files)
    except (OSError, KernelError) as error:
        run.emit(Notice(f"The files of the solution could not be saved: {error}.", "warning"))
        return
    run.agenda.files_kept = True
    run.emit(FilesKept(str(run.files), files))
