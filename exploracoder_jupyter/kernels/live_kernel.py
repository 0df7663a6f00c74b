"""What the caller's live kernel offers to a run: forking it, and the known hazards of doing so.

The kernel inspects itself (`kernel_agent.forking.fork_hazards`) and forks itself (`kernel_agent.forking.kernel_fork`)
on request. How the request reaches it, through a pipe or a Jupyter message, is up to the creator of the `LiveKernel`.
Orders name it, so this module imports nothing of what makes siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from exploracoder_jupyter.protocol.messages import Hazard


@dataclass(frozen=True, slots=True)
class LiveKernel:
    """A kernel that may be forked."""

    fork: Callable[[str], Coroutine[Any, Any, None]]
    """Forks the kernel: the child connects to the UNIX socket at this address. Raises KernelError when it cannot be
    forked. The kernel itself does not change either way."""
    hazards: tuple[Hazard, ...] = ()
    secretive: tuple[str, ...] = ()
    """Names of variables that look like credentials, which experiments could print."""
    paths: tuple[str, ...] = ()
    """The kernel's import paths."""
