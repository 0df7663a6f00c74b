"""The exploration method, without Jupyter, network, kernels or databases. `task_run.run_task` runs all of it.

Submodules are imported lazily: searching a library needs only `ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.pipeline.budget import Meter
    from exploracoder_jupyter.pipeline.context import CarriedSubtask, ResumePoint, Run
    from exploracoder_jupyter.pipeline.task_run import run_task

__all__ = ["CarriedSubtask", "Meter", "ResumePoint", "Run", "run_task"]

_HOMES = {
    "CarriedSubtask": "context",
    "ResumePoint": "context",
    "Meter": "budget",
    "Run": "context",
    "run_task": "task_run",
}

if not TYPE_CHECKING:  # type checkers should see only the imports above
    __getattr__ = lazy_getattr(__name__, _HOMES)
