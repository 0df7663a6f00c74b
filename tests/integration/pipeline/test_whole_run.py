"""A whole run with an endpoint: real siblings, a real index, a server that answers as a model would."""

import json
import sys
from dataclasses import replace
from functools import partial

import anyio
import pytest

from exploracoder_jupyter.core.errors import EndpointError, InternalError, KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.events import dump
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.runs import Order, RunSteering, resume_order, run
from exploracoder_jupyter.trace.file import load
from tests.toy_model import offer_toy, reply
from tests.unit.factories import recorded, started

TASK = "Compute the median of [3, 1, 2] and store it in `m`"
CODE = "```python\nfrom statistics import median\nm = median([3, 1, 2])\nprint(m)\n```"
KEY = "sk-planted-0123456789abcdef"


def _content(prompt, _):
    """The reply that the prompt asks for, chosen by a phrase in it."""
    replies = {'"subtasks"': {"subtasks": ["Compute the median of [3, 1, 2]"]}, '"planners"': {"planners": []}}
    found = next((json.dumps(reply) for mark, reply in replies.items() if mark in prompt), None)
    return found or (json.dumps({"apis": ["statistics.median"]}) if '"apis"' in prompt else CODE)


@pytest.fixture
def endpoint(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return offer_toy(httpserver, partial(reply, write=_content))


def _order(tmp_path, base_url, *, check="assert m == 2", **endpoint):
    layer = {"endpoint": {"base_url": base_url, "retries": 0, **endpoint}, "exploration": {"candidates": 2}}
    return Order(Task(TASK, ("statistics",), check=check), (layer,), workdir=tmp_path)


def _run(order, listen=lambda record: None, **options):
    async def main():
        return await run(order, listen, **options)

    return anyio.run(main)


def test_a_recorded_run_holds_no_secret(endpoint, tmp_path):
    secret = endpoint.replace("http://", "http://me:hunter2pw@")
    records = []
    summary = _run(_order(tmp_path, secret), records.append)
    assert summary["status"] == "solved"
    assert summary["model"] == "toy" and summary["files"] == []
    steps = [record.event.exchange.step for record in records if record.event.kind == "model_called"]
    assert steps == ["plan", "propose"], "the explored cell passes the check"
    [trace] = (tmp_path / "explorations").glob("*.ipynb")
    text = trace.read_text() + repr(records)
    assert not [planted for planted in (KEY, "hunter2pw") if planted in text]
    assert [record.event.kind for record in load(trace)][-1] == "run_finished"


def test_a_refused_key_is_known_first(httpserver, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    httpserver.expect_request("/v1/models").respond_with_json({"error": {"message": f"bad {KEY}"}}, status=401)
    records = []
    with pytest.raises(EndpointError) as caught:
        _run(_order(tmp_path, httpserver.url_for("/v1")), records.append)
    assert "401" in str(caught.value)
    assert KEY not in str(caught.value)
    assert records == []
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_not_there_leaves_nothing(tmp_path):
    order = Order(Task("x", ("statistic5",)), workdir=tmp_path, cell="caller")
    records, changes = [], []
    with pytest.raises(UsageError, match="statistic5"):
        _run(order, records.append, cells=changes.extend)
    assert list(tmp_path.iterdir()) == [] and records == changes == []


def test_a_stop_closes_the_trace(endpoint, tmp_path):
    steering = RunSteering()

    def listen(record):
        if record.event.kind == "subtask_finished":
            steering.stop()

    summary = _run(_order(tmp_path, endpoint), listen, steering=steering)
    assert summary["status"] == "stopped"
    assert "median" in summary["solution"]
    [trace] = (tmp_path / "explorations").glob("*.ipynb")
    assert load(trace)[-1].event.verdict.outcome == "stopped"


def _writing(httpserver):
    """Let the model's programs write files."""
    writing = CODE.replace("print(m)", "import os; os.makedirs('out'); open('out/m.txt', 'w').write(str(m))")

    httpserver.clear_all_handlers()
    offer_toy(httpserver, partial(reply, write=lambda prompt, _: _content(prompt, _).replace(CODE, writing)))


def test_files_of_the_solution_are_kept_on_request(endpoint, tmp_path, httpserver):
    _writing(httpserver)
    (tmp_path / "given.txt").write_text("mine")
    order = _order(tmp_path, endpoint)
    order = replace(order, layers=(*order.layers, {"view": {"keep_files": True}}))
    summary = _run(order)
    [trace] = (tmp_path / "explorations").glob("*.ipynb")
    folder = trace.with_suffix(".files")
    assert summary["files"] == [str(folder / "out" / "m.txt")]
    assert [path.read_text() for path in folder.rglob("*.txt")] == ["2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["explorations", "given.txt"]


def test_without_a_live_kernel_named_variables_are_required(tmp_path):
    sent = tmp_path / "sent"
    sent.mkdir()
    (sent / "handle.json").write_text('{"module": "no_such_module"}')
    reason = "No module named 'no_such_module'"
    with pytest.raises(UsageError, match=rf"'handle': ModuleNotFoundError: {reason}") as caught:
        _run(Order(Task("x", ("statistics",), uses=("handle",)), workdir=tmp_path, variables=sent))
    assert "--setup" in caught.value.remedy
    assert list(tmp_path.iterdir()) == [sent]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")
def test_a_late_fork_failure_needs_sent_variables(endpoint, tmp_path, httpserver):
    async def fork(address):
        assert httpserver.log == [], "an endpoint may take its time, the kernel is forked at once"
        raise KernelError("There is no memory.")

    order = _order(tmp_path, endpoint)
    order = replace(order, layers=(*order.layers, {"sandbox": {"state": "live"}}))
    task = replace(order.task, uses=("mine",))
    order = replace(order, task=task, unsent="no copies were sent", live=LiveKernel(fork))
    with pytest.raises(UsageError) as caught:
        _run(order)
    assert caught.value.message.startswith(
        "Experiments start fresh: the kernel could not be forked (There is no memory"
    )
    assert caught.value.message.endswith("your variable 'mine': no copies were sent.")
    assert "--state fresh" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_missing_required_live_kernel_is_a_sentence(tmp_path):
    order = Order(Task("x", ("statistics",)), ({"sandbox": {"state": "live"}},), workdir=tmp_path)
    with pytest.raises(MissingRequirement):
        _run(order)
    assert list(tmp_path.iterdir()) == []


def test_without_values_nothing_that_was_printed_is_sent(endpoint, tmp_path, httpserver):
    _run(_order(tmp_path, endpoint, check=None, share="schema"))
    asked = [
        json.loads(request.data)["messages"] for request, _ in httpserver.log if request.path.endswith("completions")
    ]
    assert asked
    prompts = [message["content"] for messages in asked for message in messages if "It ran." in message["content"]]
    assert prompts
    assert all(part.startswith("[printed ") for text in prompts for part in text.split("\nOutput:\n")[1:])


@pytest.mark.parametrize("named_now", [False, True])
def test_an_address_only_in_a_trace_is_reported(tmp_path, named_now):
    endpoint = {"base_url": "http://127.0.0.1:9/v1", "model": "toy", "retries": 0}
    records = recorded([started(settings={"endpoint": endpoint})])
    (tmp_path / "t.journal.jsonl").write_text("".join(f"{dump(record)}\n" for record in records))
    layers = ({"endpoint": endpoint},) if named_now else ()
    order = resume_order(
        Order(Task("", ()), layers, tmp_path), tmp_path / "t.journal.jsonl", confirm=lambda address: True
    )
    with pytest.raises(EndpointError, match="cannot be reached") as caught:
        _run(order)
    assert ("That address comes from the trace: use --base-url" in caught.value.remedy) != named_now


class FailingSteering(RunSteering):
    """Breaks the run from within, once a subtask is over."""

    def __init__(self):
        super().__init__()
        self.over = anyio.Event()

    async def next(self):
        await self.over.wait()
        raise RuntimeError("boom")


def test_a_fault_midway_keeps_results_and_is_resumed(endpoint, tmp_path):
    """Issue 14, item 0: a closed trace with the solution so far, the fields of every end, and a way on."""

    async def main():
        steering = FailingSteering()

        def listen(record):
            if record.event.kind == "subtask_finished":
                steering.over.set()

        return await run(_order(tmp_path, endpoint), listen, steering=steering)

    with pytest.raises(InternalError, match="RuntimeError: boom") as caught:
        anyio.run(main)
    [trace] = (tmp_path / "explorations").glob("*.ipynb")
    summary = caught.value.summary
    assert (summary["status"], summary["trace"]) == ("stopped", str(trace))
    assert "median" in summary["solution"] and summary["usage"]["calls"] > 1
    assert str(trace) in caught.value.remedy
    assert not list(trace.parent.glob("*.jsonl"))
    events = [record.event for record in load(trace)]
    assert any(event.kind == "notice" and "Traceback" in event.details for event in events)
    layers = ({"endpoint": {"base_url": endpoint}},)
    again = _run(resume_order(Order(Task("", ()), layers, tmp_path), trace))
    assert again["status"] == "solved"
