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
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

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


class RateLimit(Protocol):
    """The limit as one worker uses it. Implementations: `LocalRateLimit`, `dask_rate_limit.ClusterRateLimit`."""

    async def reserve(self, tokens: int) -> float:
        """Reserve a request with so many tokens. Returns the seconds to wait before it."""
        ...

    async def correct(self, tokens: int) -> None:
        """Count so many more tokens (or fewer, if negative) than were reserved."""
        ...

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Wait for one of the concurrent requests, and occupy it within the context."""
        ...


class LocalRateLimit:
    """The limit for the processes of this machine that share a folder."""

    def __init__(self, folder: Path, limits: Limits, *, clock: Clock = time.time) -> None:
        """Create the folder of the lockfiles, if there is none."""
        self._folder = folder
        self._limits = limits
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)

    async def reserve(self, tokens: int) -> float:
        """Reserve a request; see `RateLimit`."""
        return await anyio.to_thread.run_sync(self._reserve, tokens)

    async def correct(self, tokens: int) -> None:
        """Correct a reservation; see `RateLimit`."""
        await anyio.to_thread.run_sync(self._correct, tokens)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Occupy one of the concurrent requests; see `RateLimit`."""
        if self._limits.concurrent is None:
            yield
            return
        while (file := self._lock_slot(self._limits.concurrent)) is None:
            await anyio.sleep(_PAUSE)
        try:
            yield
        finally:
            os.close(file)

    def _reserve(self, tokens: int) -> float:
        with self._locked_times() as times:
            now = self._clock()
            start, times.now = times.now.reserve(now, tokens, self._limits)
            return start - now

    def _correct(self, tokens: int) -> None:
        with self._locked_times() as times:
            times.now = times.now.correct(self._clock(), tokens, self._limits)

    @contextmanager
    def _locked_times(self) -> Iterator[_Times]:
        file = os.open(self._folder / "times.json", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock(file)
            times = _Times(_read_times(file))
            yield times
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(times.now).encode(), 0)
        finally:
            os.close(file)

    def _lock_slot(self, slots: int) -> int | None:
        """Lock the first free slot, and return its file."""
        for number in range(slots):
            file = os.open(self._folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if try_lock(file):
                return file
            os.close(file)
        return None


class _Times:
    """The shared times while their file is locked."""

    def __init__(self, now: RequestTimes) -> None:
        self.now = now


def _read_times(file: int) -> RequestTimes:
    try:
        return RequestTimes(*map(float, json.loads(os.pread(file, 1000, 0))))
    except (ValueError, TypeError):  # new, or its writer was killed
        return RequestTimes()


class RateLimitedModel:
    """Waits before each request until the limit allows it."""

    def __init__(self, model: Model, limit: RateLimit, limits: Limits) -> None:
        self._model = model
        self._limit = limit
        self._limits = limits

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Wait, then yield the replies of the wrapped model.

        Raises:
            EndpointError: from the model.
        """
        async with self._limit.slot():
            reserved = estimated_tokens(request)
            if self._limits.are_timed:
                await anyio.sleep(await self._limit.reserve(reserved))
            used = 0
            try:
                async with aclosing(self._model.complete(request)) as replies:  # type: ignore[type-var]  # a generator
                    async for reply in replies:
                        used += reply.usage.prompt_tokens + reply.usage.completion_tokens
                        yield reply
            finally:
                if used and self._limits.tokens_per_minute:
                    with anyio.CancelScope(shield=True):
                        await self._limit.correct(used - reserved)


def estimated_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a request with all its replies."""
    prompt = sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN
    return prompt + request.sampling.n * (request.sampling.max_tokens or _TYPICAL_REPLY)
