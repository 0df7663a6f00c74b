"""Runs a coroutine in an event loop of another thread, because a loop may be running in the caller's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import anyio

T = TypeVar("T")


def start_in_thread(main: Callable[[], Awaitable[T]], name: str) -> Future[T]:
    """Start `main` in a new thread; the future holds its result or its error."""
    executor = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        return executor.submit(anyio.run, main)
    finally:
        executor.shutdown(wait=False)
