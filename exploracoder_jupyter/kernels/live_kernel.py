"""What the caller's live kernel offers to a run: forking it, and the known hazards of doing so.

The kernel inspects itself (`kernel_agent.forking.fork_hazards`) and forks itself (`kernel_agent.forking.kernel_fork`)
on request. How the request reaches it, through a pipe or a Jupyter message, is up to the creator of the `LiveKernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something in a kernel that does not survive a fork."""

    kind: Literal["refuse", "warn"]
    """`refuse`: experiments in a fork would hang or do harm. `warn`: they lack something, which is reported."""
    library: str
    """The library responsible, e.g. `polars`; empty if there is none."""
    what: str
    """One clause for the user, e.g. `polars keeps a thread pool that does not survive a fork`."""


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
