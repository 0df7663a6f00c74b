"""The tools that look into a running kernel: trying variants in forks of it, and describing its variables in a fork."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

import anyio
from pydantic import JsonValue

from exploracoder_jupyter.agent_tools.live_kernels import OfferedKernel, ask_kernel, send_variables
from exploracoder_jupyter.agent_tools.running_kernels import RunningKernel, find_kernel, list_kernels
from exploracoder_jupyter.agent_tools.sibling_hosts import Host, SiblingHosts
from exploracoder_jupyter.agent_tools.tool_limits import (
    FRESH,
    MAX_NAMES,
    MAX_SECONDS,
    Answer,
    check_number,
)
from exploracoder_jupyter.agent_tools.tries_notebook import TriesNotebook
from exploracoder_jupyter.agent_tools.variant_trials import (
    Trial,
    Variant,
    VariantTrials,
    plain_trial,
    plan_check,
    plan_variants,
    shown_images,
)
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import KernelError, UsageError
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode

MAX_CALLS: Final = 2
"""Calls of a client that open forks at once; others wait."""
_LOOK_SECONDS: Final = 10.0
_ASK_SECONDS: Final = 3.0
_MAX_LISTED: Final = 200
_MAX_SECRETIVE: Final = 3
_NAMES: Final = """
def _explora_names():
    import json
    space, shell = get_ipython().user_ns, get_ipython()
    hidden = {"In", "Out", "exit", "quit", "get_ipython", "open"}
    names = [name for name in space if not name.startswith("_") and name not in hidden]
    names = [name for name in names if type(space[name]).__name__ != "module"]
    told = json.loads(shell.explora_cell_reporter.describe(names[:LIMIT]))
    print(json.dumps({"described": told, "more": names[LIMIT:LIMIT + 500]}))
_explora_names()
""".replace("LIMIT", str(_MAX_LISTED))
"""Runs in a fork. Types and schemas only: no value is shown."""


@dataclass(slots=True)
class TryingTools:
    """The tools, for one client."""

    hosts: SiblingHosts
    workdir: Path
    """Where fresh kernels start."""
    tries: TriesNotebook | None = None
    """Shows the user what was tried."""
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(MAX_CALLS))

    async def list_kernels(self) -> Answer:
        """Return the running kernels, and why one cannot be forked now."""
        kernels = await list_kernels()
        reasons: dict[str, str] = {}

        async def ask(kernel: RunningKernel) -> None:
            with anyio.move_on_after(_ASK_SECONDS):
                reasons[kernel.id] = await _reason_against_fork(kernel)

        async with anyio.create_task_group() as tasks:
            for kernel in kernels:
                if not kernel.why_not_forked:
                    tasks.start_soon(ask, kernel)
        return {"kernels": [one.plain(reasons.get(one.id, "")) for one in kernels]}

    async def try_variants(
        self, kernel: str, variants: Sequence[Variant], check: str, timeout: float, images: int = 0
    ) -> tuple[Answer, list[tuple[str, bytes]]]:
        """Try the variants; see `variant_trials`. Return the results, and at most so many images with their labels.

        Raises ExploraError: the arguments are not valid, or the kernel cannot be forked. Code that fails is a result.
        """
        planned, checking = plan_variants(variants), plan_check(check)
        check_number(timeout, "timeout", 0.1, MAX_SECONDS)
        settings = resolve()
        name = kernel if kernel == FRESH else (await find_kernel(kernel)).id
        async with self._limiter:
            answer, trials = await self._try(name, planned, checking, timeout, settings)
            if self.tries and (fault := self.tries.add(name, str(answer["starts_from"]), check, trials)):
                answer["trace"] = fault
        return answer, shown_images(trials, images) if settings.endpoint.share == "values" else []

    async def _try(
        self, name: str, planned: Sequence[Variant], checking: CheckCode | None, timeout: float, settings: Settings
    ) -> tuple[Answer, list[Trial]]:
        labels = {one.label for one in planned}
        references = [*dict.fromkeys(one.after for one in planned if one.after and one.after not in labels)]
        async with AsyncExitStack() as stack:
            earlier: dict[str, Branch] = {}
            hosts: list[Host] = []
            for reference in references:
                found, earlier[reference] = await stack.enter_async_context(self.hosts.host_of(name, reference))
                hosts.append(found)
            if hosts and (any(one is not hosts[0] for one in hosts) or any(not one.after for one in planned)):
                raise UsageError(
                    "The variants start from states of different calls.",
                    remedy="Send those that continue an earlier call in a call of their own.",
                )
            notices: list[str] = []
            if hosts:
                [host, *_] = hosts
            else:
                code = "\n".join([*(one.code for one in planned), checking.code if checking else ""])
                host, notices = await self._open(name, settings, stack, re.findall(r"[^\W\d]\w*", code))
            trials = await VariantTrials(host, host.next_call(), checking, timeout).run(planned, earlier)
            environment = host.siblings.environment()
            answer: Answer = {
                "kernel": name,
                "starts_from": _starts_from(references, notices, environment.state),
                "isolation": environment.isolation,
                "variants": [plain_trial(trial, settings.endpoint.share) for trial in trials],
                "notices": [*notices, *host.siblings.notices] if settings.endpoint.share != "none" else [],
            }
            return answer, trials

    async def inspect_variables(self, kernel: str, names: Sequence[str]) -> Answer:
        """Describe variables of the kernel, or list all of them with their types.

        Raises UsageError: a name is not valid, or the user shares no values with models; KernelError: the kernel can
        neither be forked nor asked.
        """
        if len(names) > MAX_NAMES:
            raise UsageError(
                f"At most {MAX_NAMES} names can be given at once.", remedy="Ask for the others afterwards."
            )
        for name in names:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise UsageError(f"{name[:60]!r} is not the name of a variable.", remedy="Give names only, not code.")
        settings = resolve()
        if settings.endpoint.share == "none":
            raise UsageError(
                "The user's settings share no variables with models (share = none).",
                remedy="Ask the user to describe them.",
            )
        running = await find_kernel(kernel)
        found = running.id
        async with self._limiter, AsyncExitStack() as stack:
            offered = await ask_kernel(running.connection_file)
            if not names and must_send(offered, settings.sandbox):
                listed = dict(islice(offered.variables.items(), _MAX_LISTED))
                more = list[JsonValue](list(offered.variables)[_MAX_LISTED:])
                return {"kernel": found, "variables": {**listed}, "more_names": more}
            host, notices = await self._open_live(running, offered, settings, stack, names)
            stack.callback(host.closing.set)
            [branch] = await host.root.fork(1)
            stack.push_async_callback(branch.close)
            if not names:
                return {"kernel": found, **_listing(await branch.run(_NAMES, timeout=_LOOK_SECONDS))}
            return {
                "kernel": found,
                "shared": settings.endpoint.share,
                "notices": [*notices],
                "variables": {name: await _described(branch, name, settings) for name in names},
            }

    async def _open(
        self, kernel: str, settings: Settings, stack: AsyncExitStack, names: Sequence[str]
    ) -> tuple[Host, list[str]]:
        """Open siblings that start from this kernel, or from a fresh one; return them, and what the agent must know."""
        if kernel == FRESH:
            sandbox = replace(settings.sandbox, state="fresh")
            return await stack.enter_async_context(self.hosts.fresh_host(kernel, sandbox, self.workdir, None)), []
        running = await find_kernel(kernel)
        return await self._open_live(running, await ask_kernel(running.connection_file), settings, stack, names)

    async def _open_live(
        self,
        running: RunningKernel,
        offered: OfferedKernel,
        settings: Settings,
        stack: AsyncExitStack,
        names: Sequence[str],
    ) -> tuple[Host, list[str]]:
        """Open siblings that start from this kernel; return them, and what the agent must know.

        A kernel that must not be forked sends the variables with these names, as far as it can without a pickle.
        """
        if must_send(offered, settings.sandbox):
            return await self._open_with_variables(running, settings.sandbox, stack, offered, names)
        sandbox = live_sandbox(settings.sandbox, offered)
        host = await stack.enter_async_context(self.hosts.fresh_host(running.id, sandbox, offered.folder, offered.live))
        state = host.siblings.environment().state
        if not state.startswith("live"):
            host.closing.set()
            raise KernelError(
                f"The kernel cannot be forked: {state.partition(': ')[2]}.",
                remedy='The user can allow it with state = "live" under [sandbox] in the configuration file. '
                'Or use kernel "fresh", with code that makes the data.',
            )
        return host, []

    async def _open_with_variables(
        self,
        running: RunningKernel,
        sandbox: Sandbox,
        stack: AsyncExitStack,
        offered: OfferedKernel,
        names: Sequence[str],
    ) -> tuple[Host, list[str]]:
        wanted = [name for name in dict.fromkeys(names) if name in offered.variables]
        folder, problems = await send_variables(running.connection_file, wanted, sandbox.variables_mb)
        sandbox = replace(sandbox, state="fresh", kernel=None, python=offered.other_python, gateway=None)
        host = await stack.enter_async_context(self.hosts.fresh_host(running.id, sandbox, offered.folder, None, folder))
        came = ", ".join(name for name in wanted if name not in problems) or "none"
        start = f"This kernel cannot be forked: {offered.refused}. A new one was used, with copies of these variables"
        return host, [f"{start}: {came}.", *problems.values()]


def must_send(offered: OfferedKernel, sandbox: Sandbox) -> bool:
    """Whether a kernel has to send variables because it cannot be forked, where the settings allow use of its state."""
    return bool(offered.refused) and sandbox.state != "fresh"


def live_sandbox(sandbox: Sandbox, offered: OfferedKernel) -> Sandbox:
    """Return the settings with which a kernel is forked. Raises KernelError: it must not be."""
    if offered.refused:
        raise KernelError(f"The kernel cannot be forked: {offered.refused}.", remedy='Use kernel "fresh".')
    if sandbox.state == "fresh":
        raise KernelError(
            "The user's settings do not allow forks of a live kernel (state = fresh).", remedy='Use kernel "fresh".'
        )
    return replace(sandbox, kernel=None, python=None, gateway=None)


async def _reason_against_fork(kernel: RunningKernel) -> str:
    """Return why an idle kernel cannot be forked, as far as the kernel itself can tell; empty if it can."""
    sandbox = resolve().sandbox
    try:
        offered = await ask_kernel(kernel.connection_file)
        live_sandbox(sandbox, offered)
    except KernelError as error:
        return error.message
    if offered.live.secretive and sandbox.state != "live":
        return f"variables look like credentials: {', '.join(offered.live.secretive[:_MAX_SECRETIVE])}"
    return ""


def _starts_from(references: Sequence[str], notices: Sequence[str], state: str) -> str:
    if references:
        return "the states named by `after`"
    return "a new kernel with variables of this one" if notices else state


async def _described(branch: Branch, name: str, settings: Settings) -> str:
    seen = await branch.run(name, timeout=_LOOK_SECONDS)
    if not seen.ran:
        return f"({seen.error.headline if seen.error else seen.note or seen.status})"
    return seen.text if settings.endpoint.share == "values" else seen.schema


def _listing(seen: Observation) -> Answer:
    """Parse what `_NAMES` printed. Raises KernelError: it cannot be read."""
    text = "".join(str(output.get("text", "")) for output in seen.outputs)
    try:
        found = json.loads(text.strip().splitlines()[-1])
        described = {str(name): str(one["schema"]) for name, one in found["described"].items()}
        return {"variables": {**described}, "more_names": [str(name) for name in found["more"]]}
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise KernelError("The variables of this kernel cannot be listed.", remedy="Name those you need.") from error
