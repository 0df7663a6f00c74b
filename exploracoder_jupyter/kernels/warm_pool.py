"""Keeps a few siblings started ahead, so that a branch finds one ready.

Starting costs most of a second; a branch that needs a sibling takes a warm one and the pool starts another in the
background. A start that fails while nobody waits is forgotten: whoever asks next tries again and hears of it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.kernels.sibling_protocol import AnySibling

CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MOST_WARM: Final = 8

S = TypeVar("S", bound=AnySibling)


class Factory(Protocol[S]):
    """Makes and unmakes siblings: `sibling_factory.SiblingFactory`."""

    async def start(self) -> S:
        """A fresh one, or KernelError."""
        ...

    async def dispose(self, sibling: S) -> None:
        """End it for good."""
        ...


class WarmPool(Generic[S]):
    """Siblings started ahead of need. Its starts run in the task group, which must outlive it."""

    def __init__(self, tasks: TaskGroup, factory: Factory[S], *, size: int = min(CORES, _MOST_WARM) + 1) -> None:
        self._tasks, self._factory, self._size = tasks, factory, size
        self._give, self._receive = anyio.create_memory_object_stream[S | ExploraError](float("inf"))
        self._starting = self._takers = 0
        self._at_once = anyio.CapacityLimiter(CORES)

    def warm_up(self) -> None:
        """Start as many as are missing. Returns at once."""
        wanted = self._size + self._takers
        for _ in range(wanted - self._starting - self._receive.statistics().current_buffer_used):
            self._starting += 1
            self._tasks.start_soon(self._start_one)

    async def take(self) -> S:
        """A living sibling that nobody else has; the caller closes it.

        Raises:
            KernelError: none could be started.
        """
        while True:
            given = await self._next()
            if isinstance(given, ExploraError):
                raise given
            if given.is_alive:
                return given
            await self._factory.dispose(given)

    async def close(self) -> None:
        """End the siblings that nobody took."""
        async with anyio.create_task_group() as tasks:
            with suppress(anyio.WouldBlock):
                while True:
                    given = self._receive.receive_nowait()
                    if not isinstance(given, ExploraError):
                        tasks.start_soon(self._factory.dispose, given)
        self._give.close()
        self._receive.close()

    async def _next(self) -> S | ExploraError:
        self._takers += 1
        self.warm_up()
        try:
            given = await self._receive.receive()
        finally:
            self._takers -= 1
        self.warm_up()
        return given

    async def _start_one(self) -> None:
        try:
            async with self._at_once:
                sibling = await self._factory.start()
        except ExploraError as error:
            self._starting -= 1
            if self._receive.statistics().tasks_waiting_receive:
                self._give.send_nowait(error)
        else:
            self._starting -= 1
            self._give.send_nowait(sibling)
