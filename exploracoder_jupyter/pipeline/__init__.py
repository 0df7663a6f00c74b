"""The method, pure: no Jupyter, no network, no kernel, no database. `chain.run_task` is the whole of it."""

from exploracoder_jupyter.pipeline.agenda import Carried, Given
from exploracoder_jupyter.pipeline.budget import Meter
from exploracoder_jupyter.pipeline.chain import run_task
from exploracoder_jupyter.pipeline.context import Run

__all__ = ["Carried", "Given", "Meter", "Run", "run_task"]
