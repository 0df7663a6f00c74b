"""The exploration method, without Jupyter, network, kernels or databases. `task_run.run_task` runs all of it.

Submodules are imported lazily: searching a library needs only `ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.pipeline.budget import Meter
    from exploracoder_jupyter.pipeline.run_plan import Carried, Given
    from exploracoder_jupyter.pipeline.step_context import Run
    from exploracoder_jupyter.pipeline.task_run import run_task

__all__ = ["Carried", "Given", "Meter", "Run", "run_task"]

_HOMES = {"Carried": "run_plan", "Given": "run_plan", "Meter": "budget", "Run": "step_context", "run_task": "task_run"}

if not TYPE_CHECKING:  # type checkers should see only the imports above
    __getattr__ = importing(__name__, _HOMES)
