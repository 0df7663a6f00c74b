"""Measures strategies and models on problems with hidden tests.

- `Problem` is a task with hidden tests; `verify_problem` checks it against its reference solution.
- `evaluate` runs an evaluation: problems, strategies and samples, in local processes or on a Dask cluster.
- `Unit` is one sample of one strategy on one problem; `run_unit` runs it and returns a `UnitResult`.

Names are imported lazily, as in `runs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.evaluation.evaluation_run import EvaluationRequest, Results, aevaluate, evaluate
    from exploracoder_jupyter.evaluation.problems import Problem
    from exploracoder_jupyter.evaluation.results import UnitResult
    from exploracoder_jupyter.evaluation.scheduling import Limits
    from exploracoder_jupyter.evaluation.scoring import verify_problem
    from exploracoder_jupyter.evaluation.units import Unit, run_unit

__all__ = [
    "EvaluationRequest",
    "Limits",
    "Problem",
    "Results",
    "Unit",
    "UnitResult",
    "aevaluate",
    "evaluate",
    "run_unit",
    "verify_problem",
]

if not TYPE_CHECKING:  # type checkers must not see `__getattr__`, which would allow any name
    __getattr__ = lazy_getattr(
        __name__,
        {
            "EvaluationRequest": "evaluation_run",
            "Limits": "scheduling",
            "Problem": "problems",
            "Results": "evaluation_run",
            "Unit": "units",
            "UnitResult": "results",
            "aevaluate": "evaluation_run",
            "evaluate": "evaluation_run",
            "run_unit": "units",
            "verify_problem": "scoring",
        },
    )
