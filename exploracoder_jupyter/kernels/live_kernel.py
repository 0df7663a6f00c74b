"""What the caller's live kernel offers to a run: to be forked, and what is known of it that speaks against that.

The kernel looks at itself (`kernel_agent.forking.fork_hazards`) and forks itself (`kernel_agent.forking.kernel_fork`)
when asked; how the question gets
there, a pipe or a Jupyter message, is the business of whoever makes the `LiveKernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something in a kernel that a fork of it cannot carry."""

    kind: Literal["refuse", "warn"]
    """`refuse`: experiments in a fork would hang or do harm. `warn`: they lack something, and are told."""
    library: str
    """What it is of, e.g. `polars`; empty where no library is to blame."""
    what: str
    """One clause for people, e.g. `polars keeps a thread pool that does not survive a fork`."""


@dataclass(frozen=True, slots=True)
class LiveKernel:
    """A kernel that may be forked."""

    fork: Callable[[str], Coroutine[Any, Any, None]]
    """Fork it: the child connects to the UNIX socket at this address. Raises KernelError when that cannot be done; the
    kernel itself is unchanged either way."""
    hazards: tuple[Hazard, ...] = ()
    secretive: tuple[str, ...] = ()
    """Names of variables that look like credentials: experiments could print them."""
    paths: tuple[str, ...] = ()
    """What it imports from."""
