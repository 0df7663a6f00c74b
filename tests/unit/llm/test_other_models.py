"""The models that are not endpoints: scripted and replay."""

import pytest

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Exchange, Message, Sampling, Usage
from exploracoder_jupyter.llm.recorded import ReplayModel
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import IntroduceInputs


def request(step="propose", subject="1", n=1):
    inputs = IntroduceInputs(("lib",), "readme")
    return ModelRequest(step, inputs, (Message("user", "x" * 40),), Sampling(n=n), subject)


async def texts(model, asked):
    return [reply.text async for reply in model.complete(asked)]


def exchange(step, subject, *replies, usage=None, problem=""):
    return Exchange(1, step, subject, "qwen", (), Sampling(), replies, usage or Usage(1, 10, 5), problem)


async def test_the_script_answers_each_request_and_keeps_it():
    model = ScriptedModel(["one", ["a", "b", "c"]])
    assert await texts(model, request(n=5)) == ["one"]
    assert await texts(model, request("debug", n=2)) == ["a", "b"]
    assert [asked.step for asked in model.requests] == ["propose", "debug"]
    assert model.name == "scripted"


async def test_the_end_of_a_script_is_reported():
    with pytest.raises(EndpointError, match="has 0 replies, and request 1"):
        await texts(ScriptedModel([]), request())


async def test_replay_answers_by_step_and_subject_in_order():
    model = ReplayModel(
        [exchange("propose", "1", "a", "b"), exchange("propose", "2", "c"), exchange("propose", "1", "d")]
    )
    assert model.name == "qwen"
    assert await texts(model, request(subject="2")) == ["c"]
    assert await texts(model, request(subject="1")) == ["a", "b"]
    assert await texts(model, request(subject="1")) == ["d"]


async def test_replay_falls_back_to_the_steps_next_exchange():
    model = ReplayModel([exchange("plan", "", "p"), exchange("propose", "3", "c")])
    assert await texts(model, request(subject="1")) == ["c"]
    with pytest.raises(EndpointError, match="The recorded run made no such request for subtask 1"):
        await texts(model, request(subject="1"))
    assert await texts(model, request("plan")) == ["p"]
    with pytest.raises(EndpointError, match="The recorded run had no further reply for subtask 1"):
        await texts(model, request(subject="1"))


async def test_replay_costs_what_was_recorded():
    model = ReplayModel([exchange("propose", "1", "a", "b", usage=Usage(2, 100, 50, 1.5))])
    replies = [reply async for reply in model.complete(request(n=2))]
    assert sum((reply.usage for reply in replies), Usage()) == Usage(2, 100, 50, 1.5)


async def test_replay_waits_like_the_original_on_request(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("exploracoder_jupyter.llm.recorded.anyio.sleep", sleep)
    recorded = [exchange("propose", "1", "a", "b", usage=Usage(1, seconds=3.0))]
    await texts(ReplayModel(recorded, paced=True), request(n=2))
    assert slept == [1.5, 1.5]
    slept.clear()
    await texts(ReplayModel(recorded), request(n=2))
    assert sum(slept) == 0


async def test_replay_repeats_recorded_problems():
    model = ReplayModel([exchange("plan", "", "[", problem="truncated"), exchange("solve", "", problem="no route")])
    [reply] = [reply async for reply in model.complete(request("plan", ""))]
    assert reply.problem == "truncated"
    with pytest.raises(EndpointError, match="no route"):
        await texts(model, request("solve", ""))
