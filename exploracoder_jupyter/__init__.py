"""Exploratory programming in Jupyter with libraries that a language model has never seen.

In a notebook, `%load_ext exploracoder_jupyter`, then `%%explora networkx` above a task. In Python code:

    from exploracoder_jupyter import explore

    result = explore("Find the largest clique of a graph", libraries="networkx", check="assert ...")
    result.status, result.solution, result.candidates, result.usage, result.trace

- `explore` and its coroutine twin `aexplore` explore a task and return an `Exploration`.
- `search` looks up the APIs of a library.
- `find` looks up which installed package can do something.
- `load_trace` reads an `Exploration` from the trace of an earlier run.
- Errors that a caller may handle are subclasses of `ExploraError`.

See docs/architecture.md for how the package is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from exploracoder_jupyter.api import Exploration, TriedCode, aexplore, explore, find, load_trace, search
    from exploracoder_jupyter.core.errors import ExploraError, UsageError


__all__ = [
    "ExploraError",
    "Exploration",
    "TriedCode",
    "UsageError",
    "__version__",
    "aexplore",
    "explore",
    "find",
    "load_ipython_extension",
    "load_trace",
    "search",
    "unload_ipython_extension",
]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%explora`, `%explora` and `%%explored`. Called by `%load_ext exploracoder_jupyter`; idempotent."""
    from IPython.core.error import UsageError as PlainError  # is shown as a sentence, without a traceback

    from exploracoder_jupyter.core.errors import MissingRequirement, refuse_old_python

    try:
        refuse_old_python()
    except MissingRequirement as error:
        raise PlainError(str(error)) from None
    from exploracoder_jupyter.ipython_extension.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics and end active runs."""
    from exploracoder_jupyter.ipython_extension.magics import unregister

    unregister(shell)


if not TYPE_CHECKING:
    from exploracoder_jupyter.core.lazy_imports import lazy_getattr

    _HOMES = {"ExploraError": "core.errors", "UsageError": "core.errors"} | dict.fromkeys(
        ("Exploration", "TriedCode", "aexplore", "explore", "find", "load_trace", "search"), "api"
    )
    __getattr__ = lazy_getattr(__name__, _HOMES)
