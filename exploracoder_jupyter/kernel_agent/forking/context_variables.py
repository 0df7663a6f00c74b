"""The context variables of the user's code: a fork that another thread makes starts from them, too.

Python tells a thread nothing of another's context. So the thread that runs the cells leaves a copy with the shell after
each of them; what a cell that is still running has set is not in it.
"""

from __future__ import annotations

import threading
from contextvars import Context, copy_context
from typing import Any


def follow(shell: Any) -> None:
    """Note the context now and after every cell. For the thread that runs the cells. May be called again."""
    if not hasattr(shell, "explora_context"):

        def note(_result: Any) -> None:
            shell.explora_context = copy_context()

        shell.events.register("post_run_cell", note)
    shell.explora_context = copy_context()


def latest(shell: Any) -> Context:
    """A copy of the context that the next cell will run in, as far as this thread can know."""
    noted = getattr(shell, "explora_context", None)
    if isinstance(noted, Context) and threading.current_thread() is not threading.main_thread():
        return noted.copy()
    return copy_context()
