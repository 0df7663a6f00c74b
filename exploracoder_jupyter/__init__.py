"""Exploratory programming in Jupyter with libraries that a language model has never seen.

A guided tour:

- `types` and `events` are the nouns and the happenings of a run; everything else is computed from events.
- `pipeline` is the method (plan, recommend, explore, debug, select, solve, verify), pure, behind the ports of
  `pipeline.ports`.
- `models`, `knowledge`, `execution` and `notebook` are the adapters; `session` is the only place that wires them.
- `frontend` is what runs in the user's kernel (magic, panel, relay to the engine); `engine` is a run in a process of
  its own; `inside` runs in sibling kernels.

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
    """Take the magics away again and end what is still running."""
    from exploracoder_jupyter.frontend.magics import unregister

    unregister(shell)
