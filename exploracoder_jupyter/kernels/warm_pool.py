"""Keeps a few siblings started ahead, so that a branch finds one ready.

Starting takes most of a second; a branch that needs a sibling takes a warm one and the pool starts another in the
background. A start that fails while no caller waits is ignored: the next caller tries again and gets the error.
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

S = TypeVar("S", bound=AnySibling)


class Factory(Protocol[S]):
    """Starts and disposes of siblings; implemented by `sibling_factory.SiblingFactory`."""

    async def start(self) -> S:
        """Start a fresh sibling, or raise KernelError."""
        ...

    async def dispose(self, sibling: S) -> None:
        """End the sibling for good."""
        ...


class WarmPool(Generic[S]):
    """Siblings started ahead. Starts run in the task group, which must outlive the pool."""

    def __init__(self, tasks: TaskGroup, factory: Factory[S], *, size: int) -> None:
        self._tasks, self._factory, self._size = tasks, factory, size
        self._sender, self._receiver = anyio.create_memory_object_stream[S | ExploraError](float("inf"))
        self._starting = self._takers = 0
        self._start_limiter = anyio.CapacityLimiter(CORES)

    def warm_up(self) -> None:
        """Start the missing siblings in the background. Returns at once."""
        wanted = self._size + self._takers
        for _ in range(wanted - self._starting - self._receiver.statistics().current_buffer_used):
            self._starting += 1
            self._tasks.start_soon(self._start_one)

    async def take(self) -> S:
        """Return a living sibling with no other user; the caller closes it. Raises KernelError: no sibling could be
        started."""
        while True:
            item = await self._next()
            if isinstance(item, ExploraError):
                raise item
            if item.is_alive:
                return item
            await self._factory.dispose(item)

    async def close(self) -> None:
        """End the siblings that were not taken."""
        async with anyio.create_task_group() as tasks:
            with suppress(anyio.WouldBlock):
                while True:
                    item = self._receiver.receive_nowait()
                    if not isinstance(item, ExploraError):
                        tasks.start_soon(self._factory.dispose, item)
        self._sender.close()
        self._receiver.close()

    async def _next(self) -> S | ExploraError:
        self._takers += 1
        self.warm_up()
        try:
            item = await self._receiver.receive()
        finally:
            self._takers -= 1
        self.warm_up()
        return item

    async def _start_one(self) -> None:
        try:
            async with self._start_limiter:
                sibling = await self._factory.start()
        except ExploraError as error:
            self._starting -= 1
            if self._receiver.statistics().tasks_waiting_receive:
                self._sender.send_nowait(error)
        else:
            self._starting -= 1
            self._sender.send_nowait(sibling)
