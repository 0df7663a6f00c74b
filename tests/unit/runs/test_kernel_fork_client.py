"""The question to the caller's kernel: answered, refused, late, or never."""

import json
import threading
import time
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.errors import KernelError, UsageError
from exploracoder_jupyter.core.types import Observation, Task, UserVariable
from exploracoder_jupyter.protocol.messages import Hazard, KernelForked, LiveOffer
from exploracoder_jupyter.runs import KernelForkClient, Order
from exploracoder_jupyter.runs.order import (
    find_variables,
    lacking_variables_message,
    unsent_variables_message,
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


async def test_a_busy_kernel_is_waited_for_briefly():
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


async def test_a_lost_kernel_fails_all_requests():
    kernel = Kernel(lambda line, request: line.gone())
    with anyio.fail_after(patience(2)):
        for _ in range(2):
            with pytest.raises(KernelError, match="it is gone"):
                await kernel.line.fork("/run/x")


async def test_simultaneous_requests_get_their_own_answers():
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


def test_an_offer_becomes_a_forkable_kernel():
    offer = {"hazards": [{"kind": "warn", "library": "", "what": "2 threads"}], "secretive": ["api_key"]}
    line = KernelForkClient(lambda request: None)
    live = line.kernel(LiveOffer.model_validate(offer))
    assert live.hazards == (Hazard(kind="warn", what="2 threads"),)
    assert live.secretive == ("api_key",)
    assert live.fork == line.fork


class Described:
    """A branch whose variables are described like this."""

    def __init__(self, text):
        self.text, self.closed = text, False

    async def fork(self, n):
        return [self]

    async def run(self, code, *, timeout):
        return Observation("ok", outputs=({"output_type": "stream", "name": "stdout", "text": self.text},))

    async def close(self):
        self.closed = True


ORDER = Order(
    Task("Sort `a` and `b` into f", ("x",), uses=("a",), solution_name="f"),
    unsent="no copies were sent",
    mentioned=(UserVariable("b", "list", given=True), UserVariable("f"), UserVariable("c", "Fraction")),
)
SEEN = {"a": {"type": "int", "schema": "int"}, "b": {"type": "list", "schema": "list: 3"}, "c": {"missing": ""}}


async def test_variables_that_experiments_have_are_described():
    branch = Described(json.dumps(SEEN))
    task = await find_variables(ORDER, branch, state="fresh: a pool is open", timeout=1)
    assert branch.closed
    assert task.uses == ("a", "b")
    assert task.variables == (
        UserVariable("a", "int", schema="int"),
        UserVariable("b", "list", given=True, schema="list: 3"),
        UserVariable("c", "Fraction", lacking="no copies were sent"),
    )
    assert "variable c: no copies were sent" in lacking_variables_message(task)
    assert "lack a, b" in unsent_variables_message(ORDER, task)


@pytest.mark.parametrize("name", ["a", "b"])
async def test_a_run_does_not_start_without_its_data(name):
    branch = Described(json.dumps({**SEEN, name: {"missing": "ImportError: there is no polars"}}))
    with pytest.raises(UsageError, match=f"'{name}': ImportError: there is no polars"):
        await find_variables(ORDER, branch, state="fresh: a pool is open", timeout=1)
    assert branch.closed


async def test_a_kernel_that_cannot_describe_is_believed():
    task = await find_variables(ORDER, Described("Traceback"), state="fresh: a pool is open", timeout=1)
    assert task.uses == ("a", "b", "c")


async def test_variables_of_the_setup_are_given_too():
    """Issue 31, item 21."""
    setup = "import x\nG = x.Graph(); unused = [1]\ndef area(shape):\n    side = 2"
    order = replace(ORDER, task=Task("Sort `G` by `area` into `order`", ("x",), setup=setup), mentioned=())
    schemas = {"G": {"type": "x.Graph", "schema": "Graph: 3 nodes"}, "area": {"type": "function", "schema": "f"}}
    task = await find_variables(order, Described(json.dumps(schemas)), state="fresh", timeout=1)
    assert task.uses == ()
    assert [(one.name, one.given, one.schema) for one in task.variables] == [
        ("G", True, "Graph: 3 nodes"),
        ("area", True, "f"),
    ]


async def test_a_task_without_variables_asks_nothing():
    order = replace(ORDER, task=Task("Sort", ("x",)), mentioned=())
    assert await find_variables(order, None, state="fresh: a pool is open", timeout=1) is order.task
