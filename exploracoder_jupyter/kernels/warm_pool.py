"""Keeps a few siblings started ahead, so that a branch finds one ready: fresh kernels, or forks of one state.

A start that fails while no caller waits is ignored: the next caller tries again and gets the error.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import ExploraError, KernelError
from exploracoder_jupyter.kernels.sibling_kernel import AnySibling

CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MAX_AHEAD: Final = 8

S = TypeVar("S", bound=AnySibling)


class WarmPool(Generic[S]):
    """Siblings started ahead. Starts run in the task group, which must outlive the pool."""

    def __init__(
        self,
        tasks: TaskGroup,
        start: Callable[[], Awaitable[S]],
        dispose: Callable[[S], Coroutine[Any, Any, None]],
        *,
        size: int = 0,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> None:
        """`size` siblings are always kept ready; `start` raises KernelError; `limiter` limits concurrent starts."""
        self._tasks, self._start, self._dispose, self._size = tasks, start, dispose, size
        self._start_limiter = limiter or anyio.CapacityLimiter(CORES)
        self._sender, self._receiver = anyio.create_memory_object_stream[S | ExploraError](float("inf"))
        self._starting = self._takers = self._expected = 0
        self._closed = False

    def expect(self, n: int) -> None:
        """Expect `n` siblings to be taken, and start the missing ones in the background."""
        self._expected = max(self._expected, n)
        self.warm_up()

    def warm_up(self) -> None:
        """Start the missing siblings in the background. Returns at once."""
        wanted = 0 if self._closed else self._size + self._takers + min(self._expected, _MAX_AHEAD)
        for _ in range(wanted - self._starting - self._receiver.statistics().current_buffer_used):
            self._starting += 1
            self._tasks.start_soon(self._start_one)

    async def take(self) -> S:
        """Return a living sibling with no other user; the caller closes it. Raises KernelError: none could be
        started."""
        while True:
            item = await self._next()
            if isinstance(item, ExploraError):
                raise item
            if item.is_alive:
                return item
            await self._dispose(item)

    async def close(self) -> None:
        """End the siblings that were not taken."""
        self._closed = True
        async with anyio.create_task_group() as tasks:
            with suppress(anyio.WouldBlock):
                while True:
                    item = self._receiver.receive_nowait()
                    if not isinstance(item, ExploraError):
                        tasks.start_soon(self._dispose, item)
        self._sender.close()
        self._receiver.close()

    async def _next(self) -> S | ExploraError:
        self._expected = max(0, self._expected - 1)
        self._takers += 1
        self.warm_up()
        try:
            item = await self._receiver.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise KernelError("The state to branch from no longer exists.") from None
        finally:
            self._takers -= 1
        self.warm_up()
        return item

    async def _start_one(self) -> None:
        try:
            async with self._start_limiter:
                item: S | ExploraError = await self._start()
        except ExploraError as error:
            item = error
        finally:
            self._starting -= 1
        if isinstance(item, ExploraError):
            if self._takers > self._receiver.statistics().current_buffer_used:  # a taker may not wait yet
                self._sender.send_nowait(item)
        elif self._closed:
            await self._dispose(item)
        else:
            self._sender.send_nowait(item)
