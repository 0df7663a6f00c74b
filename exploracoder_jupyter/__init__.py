"""Exploratory programming in Jupyter with libraries that a language model has never seen.

A guided tour:

- `core.types` defines the data of a run, `core.events` what happens in it; everything else is computed from the events.
- `pipeline` is the method (plan, recommend, explore, debug, select, solve, verify). It is pure and reaches the world
  through the ports in `pipeline.ports`.
- `llm`, `knowledge`, `web`, `kernels` and `trace` are the adapters; `runs` is the only package that wires them.
- `frontend` runs in the user's kernel (magics, panel, relay to the engine). `engine` runs one exploration in its own
  process. `kernel_agent` runs inside the sibling kernels.

In a notebook: `%load_ext exploracoder_jupyter`, then `%%explora networkx` above a task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%explora`, `%explora` and `%%explored`. Called by `%load_ext exploracoder_jupyter`; idempotent."""
    from exploracoder_jupyter.frontend.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics and stop all active runs."""
    from exploracoder_jupyter.frontend.magics import unregister

    unregister(shell)
