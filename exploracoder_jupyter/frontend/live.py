"""What this kernel offers to a run: to be forked, with what is known of it that speaks against that.

The kernel looks at itself when the order is made, in the main thread between two statements of the user's, and forks
itself whenever the engine asks, from whatever thread hears it. Only an ipykernel on Linux can; elsewhere nothing of
what does it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.wire import Hazard, LiveOffer

Fork = Callable[[str], None]
"""Forks this kernel; the child connects to the engine's socket at the address. Raises OSError or RuntimeError."""


def offer(shell: InteractiveShell) -> LiveOffer | None:
    """What the engine is told of this kernel; `None` where it cannot be forked."""
    if not can_fork(shell):
        return None
    from exploracoder_jupyter.inside import hazards

    try:
        found = [Hazard.model_validate(hazard) for hazard in hazards.find(shell.user_ns)]
        return LiveOffer(hazards=found, secretive=hazards.secretive(shell.user_ns))
    except Exception as error:  # there is no end to what a namespace may hold; unseen hazards are a reason not to fork
        what = f"the kernel could not be looked through ({type(error).__name__}: {error})"
        return LiveOffer(hazards=[Hazard(kind="refuse", what=what)])


def can_fork(shell: InteractiveShell) -> bool:
    """Whether this is an ipykernel on Linux; another kernel's loop and sockets would not survive in the child."""
    loaded: Any = sys.modules.get("ipykernel.ipkernel")
    kernel = getattr(shell, "kernel", None)
    return sys.platform == "linux" and loaded is not None and isinstance(kernel, loaded.IPythonKernel)


def fork_of(shell: InteractiveShell) -> Fork:
    """The function that forks this kernel."""
    from exploracoder_jupyter.inside import branching, context

    context.follow(shell)
    return partial(branching.fork, shell)
