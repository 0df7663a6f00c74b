"""Keeps the states of variants alive between calls: each host holds the siblings that one call started.

Siblings are opened and closed by one task, so each host is a task of its own. A host ends when nothing has used it for
ten minutes, when newer ones need its place, or with the client.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from exploracoder_jupyter.agent_tools.tool_limits import IDLE_SECONDS
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import ExploraError, UsageError, unwrap_group
from exploracoder_jupyter.kernels import Siblings, open_siblings
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.pipeline.ports import Branch

MAX_HOSTS: Final = 4
"""Hosts that are kept for later calls; each has at most eight states of one call, and those that came after them."""
MAX_STATES: Final = 32
"""States of one host."""
_CHECK_SECONDS: Final = 5.0


@dataclass(slots=True)
class Host:
    """The siblings of one call, and the states of its variants and of those that continued them."""

    name: str
    kernel: str
    siblings: Siblings
    root: Branch
    states: dict[str, Branch] = field(default_factory=dict)
    """By the reference of a variant, `3/label`."""
    calls: int = 0
    users: int = 0
    used: float = field(default_factory=time.monotonic)
    closing: anyio.Event = field(default_factory=anyio.Event)

    def next_call(self) -> str:
        """Return the number of the call that uses it now: the host's own, and with another digit each later one."""
        self.calls += 1
        return self.name if self.calls == 1 else f"{self.name}.{self.calls}"

    async def keep(self, reference: str, branch: Branch) -> None:
        """Keep the state of a variant; the oldest one ends if there are too many."""
        self.states[reference] = branch
        while len(self.states) > MAX_STATES:
            await self.states.pop(next(iter(self.states))).close()


class SiblingHosts:
    """The hosts of one client."""

    def __init__(self, tasks: TaskGroup, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._tasks, self._idle_seconds = tasks, idle_seconds
        self._hosts: list[Host] = []
        self._numbers = count(1)
        tasks.start_soon(self._close_idle)

    @asynccontextmanager
    async def fresh_host(
        self, kernel: str, sandbox: Sandbox, workdir: Path, live: LiveKernel | None, sent: Path | None = None
    ) -> AsyncIterator[Host]:
        """Open siblings that start from the present state of the kernel, or from variables that it sent to a folder.

        The folder is removed with the host. Raises ExploraError: they cannot be opened.
        """
        host = await self._start(kernel, sandbox, workdir, live, sent)
        async with self._in_use(host):
            yield host

    @asynccontextmanager
    async def host_of(self, kernel: str, reference: str) -> AsyncIterator[tuple[Host, Branch]]:
        """Find a state of an earlier call: by the reference that the call returned, or by its label, the newest first.

        Raises UsageError: it has ended, or never existed.
        """
        for host in reversed(self._hosts):
            named = [one for one in reversed(host.states) if reference in (one, one.partition("/")[2])]
            if host.kernel == kernel and named and not host.closing.is_set():
                async with self._in_use(host):
                    yield host, host.states[named[0]]
                return
        known = [one for host in self._hosts if host.kernel == kernel for one in host.states]
        raise UsageError(
            f"There is no state {reference[:100]!r} of this kernel.",
            remedy=f"States that still exist: {', '.join(known) or 'none'}. States end after ten idle minutes.",
        )

    def close(self) -> None:
        """End all hosts; the task group ends when their processes have ended."""
        for host in self._hosts:
            host.closing.set()

    @asynccontextmanager
    async def _in_use(self, host: Host) -> AsyncIterator[None]:
        host.users += 1
        try:
            yield
        finally:
            host.users -= 1
            host.used = time.monotonic()

    async def _start(
        self, kernel: str, sandbox: Sandbox, workdir: Path, live: LiveKernel | None, sent: Path | None
    ) -> Host:
        found: Host | ExploraError = await self._tasks.start(self._hold, kernel, sandbox, workdir, live, sent)
        if isinstance(found, ExploraError):
            raise found
        idle = [one for one in self._hosts if not one.users and one is not found]
        for old in idle[: max(0, len(self._hosts) - MAX_HOSTS)]:
            old.closing.set()
        return found

    async def _hold(
        self,
        kernel: str,
        sandbox: Sandbox,
        workdir: Path,
        live: LiveKernel | None,
        sent: Path | None,
        *,
        task_status: TaskStatus[Host | ExploraError],
    ) -> None:
        """Hold the siblings of one host until it is to close. An error is returned, as it would end the task group."""
        host: Host | None = None
        try:
            async with open_siblings(sandbox, workdir=workdir, live=live, variables=sent) as siblings:
                host = Host(str(next(self._numbers)), kernel, siblings, await siblings.root())
                self._hosts.append(host)
                task_status.started(host)
                await host.closing.wait()
                self._hosts.remove(host)
        except (ExploraError, BaseExceptionGroup) as group:
            error = unwrap_group(group)
            if not isinstance(error, ExploraError):
                raise
            if host is None:
                task_status.started(error)
        finally:
            if host in self._hosts:
                self._hosts.remove(host)
            if sent is not None:
                shutil.rmtree(sent, ignore_errors=True)

    async def _close_idle(self) -> None:
        while True:
            await anyio.sleep(min(_CHECK_SECONDS, self._idle_seconds))
            now = time.monotonic()
            for host in self._hosts:
                if not host.users and now - host.used > self._idle_seconds:
                    host.closing.set()
