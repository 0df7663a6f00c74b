"""A whole run in which a model behind a real server looks up a real library while it writes."""

import json

import anyio
from werkzeug import Response

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs import Order, run
from exploracoder_jupyter.trace.file import load

TASK = "Compute the median of [3, 1, 2] and store it in `m`"
CODE = "```python\nfrom statistics import median\nm = median([3, 1, 2])\nprint(m)\n```"
EXPERIMENT = CODE.replace("m =", "middle =").replace("print(m)", "print(middle)")
"""A cell that does not pass the check, so that a program is requested."""


def stream(*deltas, finish):
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Response(f"{data}data: [DONE]\n\n", content_type="text/event-stream")


class Server:
    """Calls a tool before it proposes, and asks in its text before it solves."""

    def __init__(self):
        self.lookup_replies = []

    def answer(self, request):
        body = json.loads(request.data)
        first, last = body["messages"][1]["content"], body["messages"][-1]
        for mark, reply in (('"subtasks"', {"subtasks": ["Compute the median"]}), ('"planners"', {"planners": []})):
            if mark in first:
                return stream({"content": json.dumps(reply)}, finish="stop")
        if '"apis"' in first:
            return stream({"content": json.dumps({"apis": ["statistics.median"]})}, finish="stop")
        if len(body["messages"]) > 2:
            self.lookup_replies.append(last)
            return stream({"content": EXPERIMENT if "Write the next cell" in first else CODE}, finish="stop")
        if "Write the next cell" in first:
            assert [tool["function"]["name"] for tool in body["tools"]][2] == "get_source"
            call = {"index": 0, "id": "c1", "function": {"name": "get_source", "arguments": '{"path": "statis'}}
            rest = {"index": 0, "function": {"arguments": 'tics.median"}'}}
            return stream({"tool_calls": [call]}, {"tool_calls": [rest]}, finish="tool_calls")
        return stream({"content": "Let me see.\n"}, {"content": "APISearch(median of data)"}, finish="stop")


def test_a_model_looks_up_what_it_needs(httpserver, tmp_path):
    server = Server()
    httpserver.expect_request("/v1/models").respond_with_json({"object": "list", "data": [{"id": "toy"}]})
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(server.answer)
    layer = {
        "endpoint": {"base_url": httpserver.url_for("/v1").replace("localhost", "127.0.0.1"), "retries": 0},
        "exploration": {"candidates": 1},
        "retrieval": {"snippets": False},
    }
    order = Order(Task(TASK, ("statistics",), check="assert m == 2"), (layer,), workdir=tmp_path)
    summary = anyio.run(run, order, lambda record: None)
    assert summary["status"] == "solved"
    by_tool, in_words = server.lookup_replies
    assert (by_tool["role"], by_tool["tool_call_id"]) == ("tool", "c1")
    assert "data = sorted(data)" in by_tool["content"]
    assert in_words["role"] == "user" and "statistics.median(data)" in in_words["content"]
    [trace] = (tmp_path / "explorations").glob("*.ipynb")
    events = [record.event for record in load(trace)]
    looked = [(event.subject, event.tool, event.argument) for event in events if event.kind == "looked_up"]
    assert looked == [("1", "get_source", "statistics.median"), ("solution", "search_api", "median of data")]
    [called] = [event.exchange for event in events if event.kind == "model_called" and event.exchange.calls]
    assert called.calls[0][0].argument == "statistics.median" and called.problem == ""


def test_source_says_whether_it_is_the_users_own(tmp_path):
    (tmp_path / "beans.py").write_text('def fill(jar):\n    """Fill it."""\n    return jar\n')

    async def sources():
        inspect = local_inspector(Sandbox(), workdir=tmp_path)
        library = await TaskLibraries.open(["beans", "statistics"], inspect=inspect, cache=tmp_path / "cache")
        return await library.source("beans.fill"), await library.source("statistics.median")

    own, public = anyio.run(sources)
    assert own.splitlines()[:2] == ["# The user's own, in beans:", "def fill(jar):"]
    assert public.splitlines()[:2] == ["# Installed, in statistics:", "def median(data):"]
