"""Which unit runs next, how far an evaluation is, and the rate limit of the endpoint that all workers share."""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import anyio

from exploracoder_jupyter.core.errors import EndpointError, format_error
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.units import Unit
from exploracoder_jupyter.llm.recorded import ReplyArchive, ReplyRecording
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest, Reply

# Decides which unit runs next, which run again, and when an evaluation stops. Pure: knows no process and no clock.
#
# Workers of this machine, a Dask cluster and the simulation in `benchmarks/evaluation_scale.py` use the same queue.

MOST_ATTEMPTS: Final = 3
"""How often a unit is started at most, if its worker dies each time."""
_RETRIED: Final = frozenset({"fault", "endpoint"})
_ENDPOINT_FAILURES: Final = 20
"""Number of units in a row that the endpoint fails before the evaluation stops."""


class _Digested(Protocol):
    @property
    def digest(self) -> str: ...


U = TypeVar("U", bound=_Digested)


def is_final(result: UnitResult) -> bool:
    """Whether a unit is not run again when the evaluation is resumed: it did not end by a fault or by the endpoint."""
    return not result.fault and result.failure not in _RETRIED


class UnitQueue(Generic[U]):
    """The units that are left, in order. A unit that is lost is the next to run again."""

    def __init__(self, units: Iterable[U], *, done: Collection[str] = ()) -> None:
        """`done` are digests of units that need not run. A unit that occurs twice runs once."""
        unique = {unit.digest: unit for unit in units}
        self._waiting = deque(unit for digest, unit in unique.items() if digest not in done)
        self._active: dict[str, U] = {}
        self._deaths: Counter[str] = Counter()
        self._endpoint_failures = 0

    @property
    def left(self) -> int:
        """Number of units that are not finished."""
        return len(self._waiting) + len(self._active)

    @property
    def active(self) -> int:
        """Number of units that are taken and neither finished nor lost."""
        return len(self._active)

    def take(self) -> U | None:
        """Return the next unit to run; `None` if there is none now."""
        if not self._waiting:
            return None
        unit = self._waiting.popleft()
        self._active[unit.digest] = unit
        return unit

    def finish(self, result: UnitResult) -> None:
        """Record the result of an active unit; EndpointError if the endpoint has failed too many units in a row."""
        self._active.pop(result.unit, None)
        self._endpoint_failures = self._endpoint_failures + 1 if result.failure == "endpoint" else 0
        if self._endpoint_failures >= _ENDPOINT_FAILURES:
            raise EndpointError(
                f"The model's endpoint failed for {self._endpoint_failures} units in a row.",
                remedy="Fix it, then continue with --resume.",
            )

    def lose(self, digest: str) -> bool:
        """Record that the worker of an active unit died. Returns whether the unit will run again."""
        unit = self._active.pop(digest)
        self._deaths[digest] += 1
        runs_again = self._deaths[digest] < MOST_ATTEMPTS
        if runs_again:
            self._waiting.appendleft(unit)
        return runs_again


# How far an evaluation is, and an estimate of what is left. Pure.


class Progress:
    """Counts the results of an evaluation."""

    def __init__(
        self, units: dict[str, int], known: Iterable[UnitResult] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`units` has the number of units of each strategy, `known` the results from before it was resumed: they say
        how many tokens a unit takes, but not how long.
        """
        self._units = units
        self._done: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._clock = clock
        self._began = clock()
        self._here = 0
        self.solved = self.failed = 0
        self.cost: float | None = 0.0
        """In money; `None` if that of any unit is unknown."""
        for result in known:
            if is_final(result):
                self._count(result)

    def add(self, result: UnitResult) -> None:
        """Count the result of a unit that has just ended."""
        self._here += 1
        self._count(result)

    @property
    def total(self) -> int:
        """Number of units of the evaluation."""
        return sum(self._units.values())

    @property
    def done(self) -> int:
        """Number of units that have a result."""
        return self.solved + self.failed

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far."""
        return self._tokens.total()

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the end, at the pace so far; `None` before the first result."""
        left = self.total - self.done
        return left * (self._clock() - self._began) / self._here if self._here else None

    @property
    def tokens_left(self) -> int | None:
        """Estimated tokens until the end, by the mean of each strategy; `None` while a strategy has no result."""
        left = {name: units - self._done[name] for name, units in self._units.items() if units > self._done[name]}
        if any(not self._done[name] for name in left):
            return None
        return round(sum(units * self._tokens[name] / self._done[name] for name, units in left.items()))

    def _count(self, result: UnitResult) -> None:
        self._done[result.strategy] += 1
        self._tokens[result.strategy] += result.prompt_tokens + result.completion_tokens
        self.solved += result.passed
        self.failed += not result.passed
        self.cost = None if self.cost is None or result.cost is None else self.cost + result.cost


# One limit of the model's endpoint for all workers: requests a minute, tokens a minute, concurrent requests.
#
# Requests are spaced evenly: each one reserves the time at which it may start, and the next may start when this
# one's share of a minute has passed. Nothing is saved up while the endpoint is idle, so no minute has more requests
# than allowed. Tokens are reserved by an estimate, which is corrected when the usage is known. A reservation takes
# one access to the shared times, and a worker that dies leaves at most one unused.
#
# Here the shared times are in a file under a lock, and a concurrent request is a lock on one of several files,
# which the operating system releases if the worker dies. `dask_workers` does the same on a cluster. Clocks of
# several machines must agree to about a second.

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
            system.lock(file)
            wait, times = change(self._clock(), _read_times(file))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, json.dumps(times).encode())
            return wait
        finally:
            os.close(file)

    def _lock_slot(self, slots: int) -> int | None:
        for number in range(slots):
            file = self._open(f"{number}.lock")
            if system.try_lock(file):
                return file
            os.close(file)
        return None

    def _open(self, name: str) -> int:
        return os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)


def _read_times(file: int) -> RequestTimes:
    os.lseek(file, 0, os.SEEK_SET)
    try:
        return RequestTimes(*map(float, json.loads(os.read(file, 1000))))
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


# What every worker does with a unit, wherever it is: run it within the rate limit, and return a result in any case.

RunUnit = Callable[..., Awaitable[UnitResult]]
"""Runs a unit and its tests, as `units.run_unit` does. Can be pickled."""


@dataclass(frozen=True, slots=True)
class RecordedReplies:
    """A folder of recorded replies."""

    folder: Path
    asks_model: bool
    """Whether the model is asked for what is not recorded, and its replies are recorded; else the unit fails."""

    def of(self, unit: Unit) -> ReplyRecording:
        """Return the replies of a unit: of this sample, whatever the settings are."""
        name = f"{unit.problem.problem_set}/{unit.problem.id} {unit.strategy} {unit.sample}"
        return ReplyRecording(_archive(self.folder), name, self.asks_model)


@lru_cache(maxsize=4)
def _archive(folder: Path) -> ReplyArchive:
    """Return the archive in this folder: one for all units of this process, because reading it takes time."""
    return ReplyArchive(folder)


@dataclass(frozen=True, slots=True)
class UnitExecution:
    """What a worker needs beside the units. Can be pickled."""

    run: RunUnit
    folder: Path
    evaluation: str
    """The `id` of the manifest."""
    model: str
    limits: Limits
    replies: RecordedReplies | None = None


async def execute_unit(unit: Unit, execution: UnitExecution, limit: RateLimit) -> UnitResult:
    """Run a unit; an exception becomes a result with a fault."""
    try:
        return await execution.run(
            unit,
            execution.folder,
            wrap=lambda model: RateLimitedModel(model, limit),
            replies=execution.replies.of(unit) if execution.replies else None,
        )
    except Exception as error:
        return fault_result(unit, execution.model, format_error(error))


def fault_result(unit: Unit, model: str, fault: str) -> UnitResult:
    """Return the result of a unit that this program failed to run."""
    problem = unit.problem
    return UnitResult(
        unit=unit.digest,
        problem=problem.id,
        problem_set=problem.problem_set,
        strategy=unit.strategy,
        model=model,
        sample=unit.sample,
        tests=len(problem.tests),
        failure="fault",
        fault=fault,
    )
