"""One limit of the model's endpoint for all workers: requests a minute, tokens a minute, concurrent requests.

Requests are spaced evenly: each one reserves the time at which it may start, and the next may start when this one's
share of a minute has passed. Nothing is saved up while the endpoint is idle, so no minute has more requests than
allowed. Tokens are reserved by an estimate, which is corrected when the usage is known. A reservation takes one access
to the shared times, and a worker that dies leaves at most one unused.

Here the shared times are in a file under a lock, and a concurrent request is a lock on one of several files, which the
operating system releases if the worker dies. `dask_rate_limit` does the same on a cluster. Clocks of several machines
must agree to about a second.
"""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import anyio

from exploracoder_jupyter.core.file_lock import lock, try_lock
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest, Reply

_MINUTE = 60.0
_PAUSE = 0.05
"""Seconds between two attempts to get one of the concurrent requests."""
_CHARACTERS_PER_TOKEN = 4
_TYPICAL_REPLY = 500
"""Tokens reserved for a reply whose length the request does not limit."""
Clock = Callable[[], float]
"""Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the endpoint allows all workers together; `None` is unlimited."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrent: int | None = None

    @property
    def are_timed(self) -> bool:
        """Whether requests have to wait for a time."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


class RequestTimes(NamedTuple):
    """When the next request may start, by each limit, in seconds since the epoch."""

    by_requests: float = 0.0
    by_tokens: float = 0.0

    def reserve(self, now: float, tokens: int, limits: Limits) -> tuple[float, RequestTimes]:
        """Return when a request with so many tokens may start, and the times after it."""
        start = max(now, self.by_requests, self.by_tokens)
        return start, RequestTimes(
            start + _MINUTE / limits.requests_per_minute if limits.requests_per_minute else 0.0,
            start + _MINUTE * tokens / limits.tokens_per_minute if limits.tokens_per_minute else 0.0,
        )

    def correct(self, now: float, tokens: int, limits: Limits) -> RequestTimes:
        """Return the times after a request that used so many more tokens (or fewer, if negative) than it reserved."""
        if not limits.tokens_per_minute:
            return self
        since = max(now, self.by_tokens) if tokens > 0 else self.by_tokens
        return self._replace(by_tokens=since + _MINUTE * tokens / limits.tokens_per_minute)


Change = Callable[[float, RequestTimes], tuple[float, RequestTimes]]
"""Takes the time and the shared times; returns the seconds to wait and the new times."""


class RateLimit(ABC):
    """The limit as one worker uses it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    async def reserve(self, tokens: int) -> float:
        """Reserve a request with so many tokens. Returns the seconds to wait before it."""

        def change(now: float, times: RequestTimes) -> tuple[float, RequestTimes]:
            start, after = times.reserve(now, tokens, self.limits)
            return start - now, after

        return await anyio.to_thread.run_sync(self._update, change)

    async def correct(self, tokens: int) -> None:
        """Count so many more tokens (or fewer, if negative) than were reserved."""
        await anyio.to_thread.run_sync(self._update, lambda now, times: (0.0, times.correct(now, tokens, self.limits)))

    @abstractmethod
    def slot(self) -> AbstractAsyncContextManager[None]:
        """Wait for one of the concurrent requests, and occupy it within the context."""

    @abstractmethod
    def _update(self, change: Change) -> float:
        """Change the shared times, and return the seconds to wait."""


class LocalRateLimit(RateLimit):
    """The limit for the processes of this machine that share a folder, in which lockfiles are created."""

    def __init__(self, folder: Path, limits: Limits, *, clock: Clock = time.time) -> None:
        super().__init__(limits)
        self._folder = folder
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """See `RateLimit`."""
        if self.limits.concurrent is None:
            yield
            return
        while (file := self._lock_slot(self.limits.concurrent)) is None:
            await anyio.sleep(_PAUSE)
        try:
            yield
        finally:
            os.close(file)

    def _update(self, change: Change) -> float:
        file = self._open("times.json")
        try:
            lock(file)
            wait, times = change(self._clock(), _read_times(file))
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(times).encode(), 0)
            return wait
        finally:
            os.close(file)

    def _lock_slot(self, slots: int) -> int | None:
        for number in range(slots):
            file = self._open(f"{number}.lock")
            if try_lock(file):
                return file
            os.close(file)
        return None

    def _open(self, name: str) -> int:
        return os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _read_times(file: int) -> RequestTimes:
    try:
        return RequestTimes(*map(float, json.loads(os.pread(file, 1000, 0))))
    except (ValueError, TypeError):  # new, or its writer was killed
        return RequestTimes()


class RateLimitedModel:
    """Waits before each request until the limit allows it."""

    def __init__(self, model: Model, limit: RateLimit) -> None:
        self._model = model
        self._limit = limit

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Wait, then yield the replies of the wrapped model."""
        async with self._limit.slot():
            reserved = estimated_tokens(request)
            if self._limit.limits.are_timed:
                await anyio.sleep(await self._limit.reserve(reserved))
            used = 0
            try:
                async with aclosing(self._model.complete(request)) as replies:  # type: ignore[type-var]  # a generator
                    async for reply in replies:
                        used += reply.usage.prompt_tokens + reply.usage.completion_tokens
                        yield reply
            finally:
                if used and self._limit.limits.tokens_per_minute:
                    with anyio.CancelScope(shield=True):
                        await self._limit.correct(used - reserved)


def estimated_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a request with all its replies."""
    prompt = sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN
    return prompt + request.sampling.n * (request.sampling.max_tokens or _TYPICAL_REPLY)
