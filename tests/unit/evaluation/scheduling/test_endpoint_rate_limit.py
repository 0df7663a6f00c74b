"""All workers together keep to the limit, whatever their requests need."""

import os

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.types import Message, Sampling, Usage
from exploracoder_jupyter.evaluation.scheduling import Limits, LocalRateLimit, RateLimitedModel, RequestTimes
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from tests.patience import patience

REQUEST = ModelRequest("propose", None, (Message("user", "hello " * 10),), Sampling(max_tokens=100))


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 5000)), min_size=1, max_size=60), st.integers(1, 600))
def test_no_minute_exceeds_its_requests_or_tokens(requests, rpm):
    limits, times, now, starts = Limits(rpm, 10_000), RequestTimes(), 1e9, []
    for pause, tokens in requests:
        now += pause
        start, times = times.reserve(now, tokens, limits)
        assert start >= now
        starts.append((start, tokens))
    for start, _ in starts:
        within = [tokens for other, tokens in starts if start <= other < start + 60 - 1e-3]
        assert len(within) <= rpm
        assert sum(within[:-1]) <= 10_000 + 1


@given(st.lists(st.tuples(st.integers(1, 2000), st.integers(1, 4000)), min_size=2, max_size=40))
def test_tokens_that_were_not_foreseen_delay_later_requests(requests):
    limits, times, now, used = Limits(tokens_per_minute=60_000), RequestTimes(), 1e9, 0
    for reserved, actual in requests:
        start, times = times.reserve(now, reserved, limits)
        times = times.correct(start, actual - reserved, limits)
        used += actual
    end, _ = times.reserve(now, 1, limits)
    assert end - now >= used / 1000 - 1e-3 * len(requests)


async def test_several_workers_share_one_limit(tmp_path):
    now = [1e9]
    limits = Limits(requests_per_minute=30)
    workers = [LocalRateLimit(tmp_path, limits, clock=lambda: now[0]) for _ in range(3)]
    waits = [await workers[number % 3].reserve(10) for number in range(6)]
    assert waits == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    now[0] += 1000
    assert [await workers[0].reserve(10) for _ in range(2)] == [0.0, 2.0]  # idle time is not saved up
    (tmp_path / "times.json").write_text("[17")  # its writer did not finish
    assert [await workers[0].reserve(10) for _ in range(2)] == [0.0, 2.0]


class Busy:
    """A model that records how many requests it has at a time, and when."""

    name = "busy"

    def __init__(self):
        self.now = self.most = 0
        self.times = []

    async def complete(self, request):
        self.times.append(anyio.current_time())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.sleep(0.02)
            yield Reply(0, "x = 1", Usage(1, 100, 50))
        finally:
            self.now -= 1


async def complete(model):
    return [reply.text async for reply in model.complete(REQUEST)]


@pytest.mark.parametrize("slots", [1, 2])
async def test_simultaneous_requests_are_bounded(tmp_path, slots):
    busy, limits = Busy(), Limits(concurrent=slots)
    with anyio.fail_after(patience(20)):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(complete, RateLimitedModel(busy, LocalRateLimit(tmp_path, limits)))
    assert busy.most == slots and len(busy.times) == 5


async def test_requests_wait_and_their_tokens_are_corrected(tmp_path):
    busy, limits = Busy(), Limits(requests_per_minute=600, tokens_per_minute=60_000)
    model = RateLimitedModel(busy, LocalRateLimit(tmp_path, limits))
    begun = anyio.current_time()
    for _ in range(4):
        assert await complete(model) == ["x = 1"]
    # Each used 150 tokens at 1,000 a second. A single request may be late, which shortens the wait after it.
    assert busy.times[-1] - begun > 3 * 0.15 - 0.01


async def test_a_request_that_is_cancelled_frees_its_place(tmp_path):
    limits = Limits(concurrent=1)
    limit = LocalRateLimit(tmp_path, limits)
    with anyio.move_on_after(0.01):
        async with limit.slot():
            await anyio.sleep(60)
    with anyio.fail_after(patience(5)):
        async with limit.slot():
            assert len(os.listdir(tmp_path)) == 1  # noqa: PTH208
