"""Tools on the wire: offered, called in a stream or whole, refused, and written as text instead."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Call, Message
from exploracoder_jupyter.pipeline.retrieval.lookups import TOOLS
from tests.unit.served import answers, ask, counted, delta, model, refusal, streamed, whole

ASKED = (
    Message("user", "Write."),
    Message("assistant", "Let me see.", calls=(Call("search_api", "merge", "c1"), Call("get_source", "m.f", "c2"))),
    Message("tool", "m.merge(a, b)", answers="c1"),
    Message("tool", "def f(): ...", answers="c2"),
)


def with_tools(n=1, messages=None):
    request = replace(ask(n), tools=TOOLS)
    return replace(request, messages=messages) if messages else request


def piece(index=0, id=None, name=None, arguments=None):
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*pieces, choice=0, finish=None):
    return delta(choice, None, finish, tool_calls=list(pieces))


async def test_tools_are_offered_and_not_without_need():
    sent = []
    await answers(model(lambda body: whole("x"), requests=sent), with_tools())
    await answers(model(lambda body: whole("x"), requests=sent), ask())
    offered = sent[0]["tools"]
    assert [tool["function"]["name"] for tool in offered] == [tool.name for tool in TOOLS]
    assert offered[0]["function"]["parameters"]["required"] == ["query"]
    assert "tools" not in sent[-1]


@pytest.mark.parametrize(
    "chunks",
    [
        [
            calling(piece(0, "c1", "search_api", "")),
            calling(piece(0, None, None, '{"que')),
            calling(piece(0, None, None, 'ry": "merge"}'), piece(1, "c2", "get_source", '{"path": "m.f"}')),
        ],
        [
            calling(piece(0, "c1", "search_api", '{"query": "merge"}')),
            calling(piece(0, "c2", "get_source", '{"path": "m.f"}')),
        ],
        [
            calling(piece(0, "c1", "search_api", '{"query":')),
            calling(piece(0, "c1", None, ' "merge"}')),
            calling(piece(1, "c2", "get_source", {"path": "m.f"})),
        ],
    ],
    ids=["in pieces", "numbered alike", "arguments as an object"],
)
async def test_calls_are_put_together_from_a_stream(chunks):
    served = model(lambda body: streamed(delta(content="Well. "), *chunks, delta(finish="tool_calls"), counted(9, 7)))
    [reply] = await answers(served, with_tools())
    assert (reply.text, reply.problem) == ("Well. ", "")
    assert reply.calls == (Call("search_api", "merge", "c1"), Call("get_source", "m.f", "c2"))
    assert (reply.usage.calls, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1, 9, 7)


async def test_calls_without_id_are_numbered():
    given = [{"type": "function", "function": {"name": "search_api", "arguments": '{"query": "merge"}'}}]
    [reply] = await answers(model(lambda body: whole(None, finish="tool_calls", tool_calls=given)), with_tools())
    assert (reply.calls, reply.problem) == ((Call("search_api", "merge", "call_1"),), "")


async def test_calls_and_answers_are_sent_as_such():
    sent = []
    await answers(model(lambda body: whole("x"), requests=sent), with_tools(messages=ASKED))
    _, assistant, first, second = sent[0]["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["c1", "c2"]
    assert assistant["tool_calls"][1]["function"] == {"name": "get_source", "arguments": '{"path": "m.f"}'}
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "m.merge(a, b)"}
    assert second["tool_call_id"] == "c2"


SIGNATURE = {"google": {"thought_signature": "AbC+/=="}}


@pytest.mark.parametrize("streams", [False, True])
async def test_further_fields_of_calls_are_sent_back(streams):
    call = {**piece(0, "c1", "search_api", '{"query": "merge"}'), "extra_content": SIGNATURE, "note": None}
    call["function"]["thought"] = "t"
    chunks = [calling(call), calling(piece(0, None, None, "")), delta(finish="tool_calls"), counted(9, 7)]
    sent = []

    def answer(body):
        return streamed(*chunks) if streams else whole(None, finish="tool_calls", tool_calls=[call])

    async with model(answer, requests=sent) as served:
        [reply] = [reply async for reply in served.complete(with_tools())]
        asked = (
            Message("user", "Write."),
            Message("assistant", "", calls=reply.calls),
            Message("tool", "m", answers="c1"),
        )
        _ = [reply async for reply in served.complete(with_tools(messages=asked))]
    [returned] = sent[-1]["messages"][1]["tool_calls"]
    assert returned == {
        "id": "c1",
        "type": "function",
        "extra_content": SIGNATURE,
        "function": {"name": "search_api", "arguments": '{"query": "merge"}', "thought": "t"},
    }


async def test_damaged_fields_of_a_call_are_left_out():
    sent = []
    damaged = (Message("user", "Write."), Message("assistant", "", calls=(Call("search_api", "merge", "c1", "[{"),)))
    await answers(model(lambda body: whole("x"), requests=sent), with_tools(messages=damaged))
    assert set(sent[0]["messages"][1]["tool_calls"][0]) == {"id", "type", "function"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "registry.example/library/small does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
        (422, "Extra inputs are not permitted"),
        (400, ""),
    ],
)
async def test_a_server_that_refuses_tools_receives_text(status, words):
    sent = []

    def answer(body):
        return refusal(status, words) if "tools" in body else streamed(delta(content="x", finish="stop"), counted(5, 1))

    async with model(answer, requests=sent) as served:
        for _ in range(2):
            [reply] = [reply async for reply in served.complete(with_tools(messages=ASKED))]
            assert reply.text == "x"
    assert ["tools" in body for body in sent] == [True, False, False]
    assert sent[-1]["stream_options"] == {"include_usage": True}
    assert sent[-1]["messages"] == [
        {"role": "user", "content": "Write."},
        {"role": "assistant", "content": "Let me see.\nAPISearch(merge)\nAPISource(m.f)"},
        {"role": "user", "content": "m.merge(a, b)\n\ndef f(): ..."},
    ]
