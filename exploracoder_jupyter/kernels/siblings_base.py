"""The siblings of one run: what the implementations have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.agent_programs import inspect, read_interpreter_facts
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.syscall_filter import NO_FILTER_NOTE, SyscallFilter
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot
from exploracoder_jupyter.pipeline.ports import Branch

_known_facts: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
"""By interpreter: when its folders were modified, and the facts about it then. A server opens siblings often."""


class Siblings(ABC):
    """The siblings of one run. An async context manager; the same task must enter and leave it."""

    _environment: Environment

    def __init__(self, sandbox: Sandbox, *, workdir: Path, setup: str = "", variables: Path | None = None) -> None:
        """`setup` is code that a fresh kernel runs first; `variables` a folder written by
        `kernel_agent.variable_encoding.dump`."""
        self.sandbox, self._workdir = sandbox, workdir.resolve()
        self._setup, self._variables = setup, variables
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._environment = await self._read_environment()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @abstractmethod
    async def root(self) -> Branch:
        """Return a branch in the initial state."""

    @abstractmethod
    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent_programs.Inspect`."""

    def environment(self) -> Environment:
        """Return where the siblings run and how far they are isolated."""
        return self._environment

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user."""
        return ()

    @abstractmethod
    async def _open(self, stack: AsyncExitStack) -> None:
        """Start everything; the stack ends it."""

    @abstractmethod
    async def _read_environment(self) -> Environment: ...


class LocalSiblings(Siblings):
    """Siblings on this machine."""

    _launcher: Launcher
    state: str
    """Where experiments start, and why; recorded as `Environment.state`."""

    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent_programs.Inspect`."""
        return inspect(self._launcher, module, arguments, workdir=self._workdir)

    async def _read_facts(self) -> dict[str, Any]:
        """Return `read_interpreter_facts`; where nothing has been installed since, without starting a program."""
        key = repr((self._launcher.interpreter, self._workdir, _python_variables()))
        searched = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        folders = (*self._launcher.interpreter.paths, *searched, self._workdir)
        state = tuple(map(_modified, map(Path, filter(None, folders))))
        known = _known_facts.get(key)
        if known is None or known[0] != state:
            known = _known_facts[key] = (state, await read_interpreter_facts(self.inspect))
        return known[1]

    async def _describe_environment(
        self, isolation: str, filter: SyscallFilter | None, snapshot: Snapshot, branching: str
    ) -> Environment:
        return Environment(
            **await self._read_facts(),
            kernel=self._launcher.interpreter.name,
            isolation="; ".join(part for part in (isolation, "" if filter else NO_FILTER_NOTE, snapshot.note) if part),
            branching=branching,
            state=self.state,
        )


def _python_variables() -> list[tuple[str, str]]:
    return sorted(item for item in os.environ.items() if item[0].startswith(("PYTHON", "TZ", "VIRTUAL_ENV", "CONDA")))


def _modified(folder: Path) -> int:
    """Return when the folder, or the metadata of a distribution in it, was last modified; 0 if there is none."""
    latest = 0
    for file in (folder, *folder.glob("*.dist-info/METADATA"), *folder.glob("*.egg-info/PKG-INFO")):
        with suppress(OSError):
            latest = max(latest, file.stat().st_mtime_ns)
    return latest
