"""The question to the caller's kernel: answered, refused, late, or never."""

import threading
import time
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.types import Environment, Task
from exploracoder_jupyter.protocol.engine_messages import Hazard, KernelForked, LiveOffer
from exploracoder_jupyter.runs import KernelForkClient, Order
from exploracoder_jupyter.runs.order import (
    missing_variables_message,
    unsent_variables_message,
    with_mentioned_variables,
)
from tests.patience import patience


class Kernel:
    """Answers from a thread of its own, as the engine's inbox does."""

    def __init__(self, answer, **options):
        self.asked = []
        self._answer = answer
        self.line = KernelForkClient(self._ask, **options)

    def _ask(self, request):
        self.asked.append(request)
        threading.Thread(target=self._answer, args=(self.line, request)).start()


async def test_a_kernel_that_forks_is_waited_for():
    def answer(line, request):
        time.sleep(0.02)
        line.answered(KernelForked(number=request.number))

    kernel = Kernel(answer)
    await kernel.line.fork("/run/x")
    await kernel.line.fork("/run/y")
    assert [request.address for request in kernel.asked] == ["/run/x", "/run/y"]
    assert kernel.asked[0].number != kernel.asked[1].number


async def test_a_refusal_is_a_sentence():
    kernel = Kernel(lambda line, request: line.answered(KernelForked(number=request.number, problem="no memory.")))
    with pytest.raises(KernelError, match=r"^Your kernel could not be forked: no memory\.$"):
        await kernel.line.fork("/run/x")


async def test_a_busy_kernel_is_waited_for_only_so_long_and_its_late_answer_is_passed_over():
    late = []
    kernel = Kernel(lambda line, request: late.append(request.number), patience=0.05)
    with pytest.raises(KernelError, match=r"it is busy and did not answer within 0\.05 s"):
        await kernel.line.fork("/run/x")
    kernel.line.answered(KernelForked(number=late[0], problem="too late"))

    def answer(line, request):
        line.answered(KernelForked(number=late[0], problem="too late"))
        line.answered(KernelForked(number=request.number))

    kernel._answer = answer
    await kernel.line.fork("/run/y")


async def test_a_kernel_that_goes_away_fails_what_waits_and_what_comes():
    kernel = Kernel(lambda line, request: line.gone())
    with anyio.fail_after(patience(2)):
        for _ in range(2):
            with pytest.raises(KernelError, match="it is gone"):
                await kernel.line.fork("/run/x")


async def test_requests_at_the_same_time_get_their_own_answers():
    def answer(line, request):
        line.answered(KernelForked(number=request.number, problem="odd" if request.number % 2 else ""))

    kernel, ended = Kernel(answer), []

    async def fork():
        try:
            await kernel.line.fork("/run/x")
            ended.append("forked")
        except KernelError:
            ended.append("refused")

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(fork)
    assert sorted(ended) == ["forked"] * 3 + ["refused"] * 3


def test_an_offer_becomes_a_kernel_that_can_be_forked():
    offer = {"hazards": [{"kind": "warn", "library": "", "what": "2 threads"}], "secretive": ["api_key"]}
    line = KernelForkClient(lambda request: None)
    live = line.kernel(LiveOffer.model_validate(offer))
    assert live.hazards == (Hazard(kind="warn", what="2 threads"),)
    assert live.secretive == ("api_key",)
    assert live.fork == line.fork


ENVIRONMENT = Environment("3", "L", "python3", "namespaces", "fork")
ORDER = Order(
    Task("Sort a and b into f", ("x",), uses=("a",), solution_name="f"),
    unsent="They were not sent.",
    mentioned=("a", "b", "f", "c"),
)


def test_where_experiments_start_live_the_task_names_the_variables_that_it_speaks_of():
    task = with_mentioned_variables(ORDER, replace(ENVIRONMENT, state="live: nothing speaks against it"))
    assert task == replace(ORDER.task, uses=("a", "b", "c"))
    assert (
        unsent_variables_message(ORDER, task)
        == "They were not sent. They lack b, c: use `--state fresh --use b c` to send a copy."
    )
    assert unsent_variables_message(replace(ORDER, unsent=""), replace(task, uses=("a",))) == ""


def test_where_they_start_fresh_the_task_names_only_what_was_sent():
    task = with_mentioned_variables(ORDER, replace(ENVIRONMENT, state="fresh: a pool is open"))
    assert task == ORDER.task
    assert unsent_variables_message(ORDER, task) == "They were not sent."


def test_variables_that_the_task_names_and_experiments_lack_are_reported():
    message = missing_variables_message(ORDER, ORDER.task)
    assert "variables b, c" in message
    assert "--use b c" in message
    assert missing_variables_message(ORDER, replace(ORDER.task, uses=("a", "b", "c"))) == ""
