"""Chooses how the siblings of a run are made: where experiments start, how states are branched, how far they are
isolated. The safest allowed way is chosen; the reason is one line for the user.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from anyio import to_thread

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, unwrap_group
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkSiblings, Origin
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings
from exploracoder_jupyter.kernels.interpreter import write_agent_archive
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.remote.remote_siblings import RemoteSiblings
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel, find_level
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import find_isolation
from exploracoder_jupyter.pipeline.ports import Branch

_MAX_NAMES: Final = 3
_REMEDY: Final = "Install bubblewrap (Debian: apt-get install bubblewrap), or use --isolation best."


class Siblings(Protocol):
    """The siblings of one run."""

    async def root(self) -> Branch:
        """Return a branch in the initial state."""
        ...

    def environment(self) -> Environment:
        """Return where the siblings run and how far they are isolated."""
        ...

    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent_programs.Inspect`."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user."""
        ...


@dataclass(frozen=True, slots=True)
class SiblingChoice:
    """Where experiments start and how states are branched."""

    live: bool
    fork: bool
    why: str
    """Why they start there; a clause."""

    @property
    def state(self) -> str:
        """The value recorded as `Environment.state`."""
        return f"{'live' if self.live else 'fresh'}: {self.why}"


def choose_siblings(sandbox: Sandbox, level: SandboxLevel, live: LiveKernel | None) -> SiblingChoice:
    """Choose the safest way that the settings allow. Raises MissingRequirement: live state is requested and there is no
    live kernel."""
    fork = _can_fork(sandbox, level)
    if live is None and sandbox.state == "live":
        raise MissingRequirement("There is no live kernel to fork.", remedy="Use --state fresh.")
    reason = _reason_against_live(sandbox, level, live)
    return SiblingChoice(live=not reason, fork=fork or not reason, why=reason or _reason_for_live(live))


def _can_fork(sandbox: Sandbox, level: SandboxLevel) -> bool:
    if sandbox.branching != "auto":
        return sandbox.branching == "fork"
    return level.name == "namespaces"  # bubblewrap isolates spawned kernels better than the weaker levels do forks


def _reason_against_live(sandbox: Sandbox, level: SandboxLevel, live: LiveKernel | None) -> str:
    """Return the reason not to fork the live kernel; empty if it is to be forked."""
    if sandbox.state == "fresh":
        return "as requested"
    if live is None:
        return "there is no live kernel"
    if sandbox.branching == "rerun" or sandbox.kernel or sandbox.gateway:
        return "only forks start from the live kernel"
    refused = [hazard.what for hazard in live.hazards if hazard.kind == "refuse"]
    if refused:
        return refused[0]
    if sandbox.state == "live":
        return ""
    if live.secretive:
        names = ", ".join(live.secretive[:_MAX_NAMES])
        return f"variables look like credentials ({names}); --state live includes them anyway"
    if level.name != "namespaces":
        return "forks cannot be fully confined here; --state live forks anyway"
    return ""


def _reason_for_live(live: LiveKernel | None) -> str:
    return "every variable is seen as it is" if live else ""


@asynccontextmanager
async def open_siblings(
    sandbox: Sandbox,
    *,
    workdir: Path,
    setup: str = "",
    variables: Path | None = None,
    live: LiveKernel | None = None,
) -> AsyncIterator[Siblings]:
    """Open the siblings of one run, made in the best way that is safe here.

    `setup` is code that a fresh kernel runs first; `variables` a folder written by
    `kernel_agent.variable_transfer.dump`. Raises MissingRequirement: the settings require something that this machine
    or this caller cannot provide; KernelError: no kernel could be started or forked."""
    async with AsyncExitStack() as stack:
        if sandbox.gateway:
            remote = RemoteSiblings(sandbox, workdir=workdir, setup=setup, variables=variables)
            yield await stack.enter_async_context(remote)
            return
        level = await to_thread.run_sync(_detect_level)
        choice = choose_siblings(sandbox, level, live)
        _require_isolation(sandbox, level, choice)
        yield await _open(stack, sandbox, level, choice, workdir, Origin(live, setup, variables))


async def _open(
    stack: AsyncExitStack, sandbox: Sandbox, level: SandboxLevel, choice: SiblingChoice, workdir: Path, origin: Origin
) -> Siblings:
    """Open what was chosen; re-run where forking fails after all, unless the settings require forking."""
    rerun = RerunSiblings(sandbox, workdir=workdir, setup=origin.setup, variables=origin.variables, state=choice.state)
    if not choice.fork:
        return await stack.enter_async_context(rerun)
    start_origin = origin if choice.live else replace(origin, live=None)
    forks = ForkSiblings(sandbox, level, workdir=workdir, origin=start_origin, state=choice.state)
    try:
        return await stack.enter_async_context(forks)
    except (KernelError, BaseExceptionGroup) as group:
        error = unwrap_group(group)
        if sandbox.branching == "fork" or not isinstance(error, KernelError):
            raise error from None
    rerun.state = f"fresh: the kernel could not be forked ({str(error).rstrip('.')})"
    return await stack.enter_async_context(rerun)


def _detect_level() -> SandboxLevel:
    with tempfile.TemporaryDirectory() as folder:
        return find_level(write_agent_archive(Path(folder) / "kernel_agent.zip"))


def _require_isolation(sandbox: Sandbox, level: SandboxLevel, choice: SiblingChoice) -> None:
    """Check that full isolation is available, if the settings require it. Raises MissingRequirement: full isolation is
    not available."""
    if sandbox.isolation != "require":
        return
    if choice.fork and level.name != "namespaces":
        raise MissingRequirement(
            f"Experiments would not be fully isolated: {level.why}.", remedy="Use --state fresh, or --isolation best."
        )
    isolation = find_isolation(network=sandbox.network)
    if not choice.fork and not isolation.mounts:
        raise MissingRequirement(f"Experiments would not be fully isolated: {isolation.description}.", remedy=_REMEDY)
