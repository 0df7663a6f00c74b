"""Chooses how the siblings of a run are made: where experiments start, how states are branched, how far they are
isolated. The safest allowed way is chosen; the reason is one line for the user.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, unwrap_group
from exploracoder_jupyter.kernels.agent import write_agent_archive
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.remote.remote_siblings import RemoteSiblings
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel, find_level, remedy_for_isolation
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import find_isolation
from exploracoder_jupyter.kernels.sandbox.working_directory import copyable_workdir
from exploracoder_jupyter.kernels.siblings import Siblings

_MAX_NAMES: Final = 3


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


def choose_siblings(
    sandbox: Sandbox, level: SandboxLevel, live: LiveKernel | None, *, bubblewrap: bool
) -> SiblingChoice:
    """Choose the safest way that the settings allow.

    `bubblewrap` says whether it works here: it isolates kernels that are started better than Landlock does forks, and
    Landlock isolates forks better than nothing does kernels. Raises MissingRequirement: live state is requested and
    there is no live kernel.
    """
    is_safest = is_safest_fork(level, bubblewrap=bubblewrap)
    fork = sandbox.branching == "fork" or (sandbox.branching == "auto" and is_safest)
    if live is None and sandbox.state == "live":
        raise MissingRequirement("There is no live kernel to fork.", remedy="Use --state fresh.")
    reason = _reason_against_live(sandbox, live, is_safest=is_safest)
    return SiblingChoice(not reason, fork or not reason, reason or "every variable is seen as it is")


def is_safest_fork(level: SandboxLevel, *, bubblewrap: bool) -> bool:
    """Whether no kernel that is started would be isolated better than a fork."""
    return level.name == "namespaces" or (level.name == "landlock" and not bubblewrap)


def _reason_against_live(sandbox: Sandbox, live: LiveKernel | None, *, is_safest: bool) -> str:
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
    if not is_safest:
        return "forks cannot be confined well here; --state live forks anyway"
    return ""


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
    `kernel_agent.variable_encoding.dump`. Raises MissingRequirement: the settings require something that this machine
    or this caller cannot provide; KernelError: no kernel could be started or forked."""
    async with AsyncExitStack() as stack:
        workdir = copyable_workdir(workdir, stack)
        if sandbox.gateway:
            remote = RemoteSiblings(sandbox, workdir=workdir, setup=setup, variables=variables)
            yield await stack.enter_async_context(remote)
            return
        with tempfile.TemporaryDirectory() as folder:
            archive = write_agent_archive(Path(folder) / "kernel_agent.zip")
            level = await to_thread.run_sync(find_level, archive)
        bubblewrap = level.name != "namespaces" and find_isolation(network=sandbox.network).mounts
        choice = choose_siblings(sandbox, level, live, bubblewrap=bubblewrap)
        _require_isolation(sandbox, level, choice)
        state = choice.state
        if choice.fork:
            from exploracoder_jupyter.kernels.branching.fork_siblings import ForkSiblings  # Linux only

            forks = ForkSiblings(
                sandbox,
                level,
                workdir=workdir,
                state=state,
                live=live if choice.live else None,
                setup=setup,
                variables=variables,
            )
            try:
                await stack.enter_async_context(forks)
            except (KernelError, BaseExceptionGroup) as group:
                error = unwrap_group(group)
                if sandbox.branching == "fork" or not isinstance(error, KernelError):
                    raise error from None
                state = f"fresh: the kernel could not be forked ({str(error).rstrip('.')})"
            else:
                yield forks
                return
        rerun = RerunSiblings(sandbox, workdir=workdir, setup=setup, variables=variables)
        rerun.state = state
        yield await stack.enter_async_context(rerun)


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
        raise MissingRequirement(
            f"Experiments would not be fully isolated: {isolation.description}.",
            remedy=f"{remedy_for_isolation()} Or use --isolation best.",
        )
