"""Several things at once: task groups that raise one plain error, and producers whose items are merged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import unwrap_group

# Task groups that raise one plain error: callers catch `ExploraError`, never a group.


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """Open an anyio task group; when tasks fail, one error is raised, preferably an `ExploraError`."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as failures:
        raise unwrap_group(failures) from None


# Runs several producers concurrently and yields their items in order of arrival.
#
# This is an async generator that owns tasks. An anyio task group may not stay open over a `yield` (its cancel scope
# would leak into the consumer), so the tasks are asyncio's; they are cancelled and awaited when the generator is
# closed.

_T = TypeVar("_T")
Put = Callable[[_T], None]
Producer = Callable[[Put[_T]], Awaitable[None]]


async def merge_streams(producers: Sequence[Producer[_T]]) -> AsyncGenerator[_T]:
    """Run the producers concurrently and yield the items they put, as they arrive.

    Producers continue while the consumer is busy. An exception of a producer is raised when all the others are done.
    Closing the generator cancels them.
    """
    inbox: asyncio.Queue[tuple[_T] | None] = asyncio.Queue()  # `None` marks the end of one producer

    async def run(producer: Producer[_T]) -> None:
        try:
            await producer(lambda item: inbox.put_nowait((item,)))
        finally:
            inbox.put_nowait(None)

    tasks = [asyncio.create_task(run(producer)) for producer in producers]
    try:
        running = len(tasks)
        while running:
            if (item := await inbox.get()) is None:
                running -= 1
            else:
                yield item[0]
        for task in tasks:
            await task
    finally:
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)
