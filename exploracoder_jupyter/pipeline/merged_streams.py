"""Runs several producers concurrently and yields their items in order of arrival.

This is an async generator that owns tasks. An anyio task group may not stay open over a `yield` (its cancel scope would
leak into the consumer), so the tasks are asyncio's; they are cancelled and awaited when the generator is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

_T = TypeVar("_T")
Put = Callable[[_T], None]
Producer = Callable[[Put[_T]], Awaitable[None]]


class _End:
    """Marks the end of one producer."""


_END: Final = _End()


async def merge_streams(producers: Sequence[Producer[_T]]) -> AsyncGenerator[_T]:
    """Run the producers concurrently and yield the items they put, as they arrive.

    Producers continue while the consumer is busy. An exception of a producer is raised when all the others are done.
    Closing the generator cancels them.
    """
    inbox: asyncio.Queue[_T | _End] = asyncio.Queue()
    tasks = [asyncio.create_task(_run_producer(producer, inbox)) for producer in producers]
    try:
        running = len(tasks)
        while running:
            item = await inbox.get()
            if isinstance(item, _End):
                running -= 1
            else:
                yield item
        for task in tasks:
            await task
    finally:
        await _cancel(tasks)


async def _run_producer(producer: Producer[_T], inbox: asyncio.Queue[_T | _End]) -> None:
    try:
        await producer(inbox.put_nowait)
    finally:
        inbox.put_nowait(_END)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.gather(*tasks, return_exceptions=True)
