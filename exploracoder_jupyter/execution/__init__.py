"""Sibling kernels: where candidates run, confined, in branches of one state.

`RerunSiblings` is the adapter behind the `Branch` port; an `inspector` runs our own reading code (API walks) in the
same interpreter and confinement; `find_isolation` tells what this machine allows.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from exploracoder_jupyter.config import Sandbox
from exploracoder_jupyter.errors import MissingMeans
from exploracoder_jupyter.execution.inspect import Inspect, inspector
from exploracoder_jupyter.execution.isolation import find_isolation
from exploracoder_jupyter.execution.live import Hazard, LiveKernel
from exploracoder_jupyter.execution.rerun import RerunBranch, RerunSiblings

__all__ = [
    "Hazard",
    "Inspect",
    "LiveKernel",
    "RerunBranch",
    "RerunSiblings",
    "find_isolation",
    "inspector",
    "open_siblings",
]


@asynccontextmanager
async def open_siblings(
    sandbox: Sandbox,
    *,
    workdir: Path,
    setup: str = "",
    variables: Path | None = None,
    live: LiveKernel | None = None,
) -> AsyncIterator[RerunSiblings]:
    """The siblings of one run.

    Raises:
        MissingMeans: a live kernel is required, and there is none that can be forked.
    """
    if sandbox.state == "live":
        raise MissingMeans("There is no live kernel that could be forked.", remedy="Use --state fresh.")
    async with RerunSiblings(sandbox, workdir=workdir, setup=setup, variables=variables) as siblings:
        yield siblings
