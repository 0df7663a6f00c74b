"""Makes the context variables of the user's code available to forks that another thread makes.

A Python thread cannot read another thread's context. So the thread that runs the cells stores a copy in the shell after
each cell; this copy does not include what a running cell has set.
"""

from __future__ import annotations

import threading
from contextvars import Context, copy_context
from typing import Any


def track_context(shell: Any) -> None:
    """Store the context now and after every cell. Call this in the thread that runs the cells; repeating is fine."""
    if not hasattr(shell, "explora_context"):

        def store(_result: Any) -> None:
            shell.explora_context = copy_context()

        shell.events.register("post_run_cell", store)
    shell.explora_context = copy_context()


def latest_context(shell: Any) -> Context:
    """Return a copy of the context for the next cell, as far as this thread can know it."""
    context = getattr(shell, "explora_context", None)
    if isinstance(context, Context) and threading.current_thread() is not threading.main_thread():
        return context.copy()
    return copy_context()
