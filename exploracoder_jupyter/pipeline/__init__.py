"""The method, pure: no Jupyter, no network, no kernel, no database. `chain.run_task` is the whole of it.

Imported when it is asked for: of a search of a library, only `ports` is part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.lazy import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.pipeline.agenda import Carried, Given
    from exploracoder_jupyter.pipeline.budget import Meter
    from exploracoder_jupyter.pipeline.chain import run_task
    from exploracoder_jupyter.pipeline.context import Run

__all__ = ["Carried", "Given", "Meter", "Run", "run_task"]

_HOMES = {"Carried": "agenda", "Given": "agenda", "Meter": "budget", "Run": "context", "run_task": "chain"}

if not TYPE_CHECKING:  # a type checker is to know these names and no others
    __getattr__ = importing(__name__, _HOMES)
