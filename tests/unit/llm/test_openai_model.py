from dataclasses import replace
from itertools import count, pairwise

import anyio
import pytest

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.core.types import Message, Usage
from tests.patience import patience
from tests.unit.served import answers, ask, counted, delta, model, refusal, streamed, whole

LOST = httpx.RemoteProtocolError("peer closed connection")


def texts(replies):
    return [reply.text for reply in sorted(replies, key=lambda reply: reply.index)]


def total(replies):
    usage = sum((reply.usage for reply in replies), Usage())
    return usage.calls, usage.prompt_tokens, usage.completion_tokens


async def test_one_choice_is_joined_from_its_chunks():
    sent = []
    served = model(
        lambda body: streamed(delta(content="im"), delta(content="port x"), delta(finish="stop"), counted(12, 7)),
        requests=sent,
    )
    [reply] = await answers(served, ask(temperature=0.5, top_p=0.9, max_tokens=99))
    assert (reply.text, reply.problem, total([reply])) == ("import x", "", (1, 12, 7))
    assert reply.usage.seconds > 0
    assert sent[0]["messages"] == [{"role": "user", "content": "What?"}]
    assert (sent[0]["temperature"], sent[0]["top_p"], sent[0]["max_tokens"]) == (0.5, 0.9, 99)
    assert "n" not in sent[0] and "response_format" not in sent[0]


async def test_an_inline_lookup_stops_behind_the_invented_answer():
    sent = []
    served = model(lambda body: streamed(delta(content="x", finish="stop"), counted(1, 1)), requests=sent)
    await answers(served, replace(ask(), inline_lookups=True))
    assert sent[0]["stop"] == ["</API>"]


async def test_a_stream_is_closed_at_an_inline_lookup():
    begun = [delta(content="def f()->int: "), delta(content="<API>APISearch(sum)-"), delta(content=">")]
    served = model(lambda body: streamed(*begun, delta(content="made up", finish="stop"), counted(1, 1)))
    [reply] = await answers(served, replace(ask(), inline_lookups=True))
    assert (reply.text, reply.problem) == ("def f()->int: <API>APISearch(sum)->", "")


@pytest.mark.parametrize(
    ("details", "cached"),
    [({"cached_tokens": 9}, 9), ({"cached_tokens": 13}, 0), ({"cached_tokens": "9"}, 0), ({}, 0), (None, 0), ([9], 0)],
)
async def test_plausible_cached_prompt_tokens_are_counted(details, cached):
    counts = counted(12, 7)
    counts["usage"]["prompt_tokens_details"] = details
    replies = await answers(model(lambda body: streamed(delta(content="x", finish="stop"), counts)), ask())
    assert sum(reply.usage.cached_tokens for reply in replies) == cached
    assert total(replies) == (1, 12, 7)


async def test_choices_arrive_in_the_order_they_end():
    sent = []
    chunks = [
        delta(0, "a"),
        delta(1, "bb"),
        delta(2, "c"),
        delta(2, finish="stop"),
        delta(2, "!", "stop"),
        delta(0, finish="stop"),
    ]
    served = model(lambda body: streamed(*chunks, delta(1, finish="stop"), counted(600, 300)), requests=sent)
    replies = await answers(served, ask(n=3, text="What?" * 100))
    assert [(reply.index, reply.text) for reply in replies] == [(2, "c"), (0, "a"), (1, "bb")]
    assert total(replies) == (1, 600, 300)
    assert [reply.usage.calls for reply in replies] == [1, 0, 0]
    assert len(sent) == 1


async def test_a_choice_is_passed_on_before_others_end():
    proceed = anyio.Event()

    first, second = delta(0, "early", "stop"), delta(1, "late", "stop")
    seen = []
    with anyio.fail_after(patience(5)):
        async with model(lambda body: streamed(first, proceed.wait, second)) as served:
            async for reply in served.complete(ask(n=2)):
                seen.append(reply.text)
                proceed.set()
    assert seen == ["early", "late"]


async def test_a_server_that_ignores_n_is_asked_again():
    sent = []

    def answer(body):
        text = f"reply {len(sent)}"
        return streamed(delta(content=text, finish="stop"), counted(10, 5)) if body.get("stream") else whole(text)

    served = model(answer, requests=sent)
    async with served:
        first = [reply async for reply in served.complete(ask(n=3))]
        assert [reply.index for reply in sorted(first, key=lambda reply: reply.index)] == [0, 1, 2]
        assert len(set(texts(first))) == 3 and total(first) == (3, 30, 15)
        second = [reply async for reply in served.complete(ask(n=3))]
    assert len(second) == 3 and total(second) == (3, 30, 15)
    assert [body.get("n") for body in sent] == [3, None, None, None, None, None]


@pytest.mark.parametrize("message", ["'n' : number must be at most 1", "Only one completion choice is allowed"])
async def test_a_server_that_refuses_n_is_asked_singly(message):
    sent = []

    def answer(body):
        return refusal(400, message) if "n" in body else streamed(delta(content="x", finish="stop"), counted(1, 1))

    replies = await answers(model(answer, requests=sent), ask(n=4))
    assert texts(replies) == ["x"] * 4
    assert total(replies)[0] == 4
    assert len(sent) == 5


async def test_refused_stream_options_are_dropped_and_tokens_estimated():
    def answer(body):
        if "stream_options" in body:
            return refusal(422, "[{'loc': ['body', 'stream_options'], 'msg': 'Extra inputs are not permitted'}]")
        return streamed(delta(content="x" * 350, finish="stop"))

    replies = await answers(model(answer), ask(text="y" * 700))
    assert total(replies) == (1, 200, 100)


async def test_a_server_without_streaming_is_remembered():
    sent = []
    served = model(lambda body: whole("text"), requests=sent)
    async with served:
        for _ in range(2):
            [reply] = [reply async for reply in served.complete(ask())]
            assert reply.text == "text"
    assert [bool(body.get("stream")) for body in sent] == [True, False, False]


SCHEMA = {"title": "PlanReply", "type": "object", "properties": {"a": {"type": "string", "default": ""}}}


@pytest.mark.parametrize(
    ("status", "message", "accepted"),
    [
        (200, "", "json_schema"),
        (400, "This response_format type is unavailable now", "json_object"),
        (400, "Bad Request", "json_object"),
        (422, "'response_format.type' must be 'text'", None),
        (500, "failed to parse grammar", None),
    ],
)
async def test_structured_replies_fall_back_stepwise(status, message, accepted):
    sent = []

    def answer(body):
        form = (body.get("response_format") or {}).get("type")
        if form not in (accepted, None):
            return refusal(status, message)
        return streamed(delta(content="{}", finish="stop"), counted(1, 1))

    served = model(answer, requests=sent)
    async with served:
        for _ in range(2):
            [reply] = [reply async for reply in served.complete(ask(schema=SCHEMA))]
            assert reply.text == "{}"
    forms = [(body.get("response_format") or {}).get("type") for body in sent]
    ladder = ["json_schema", "json_object", None]
    assert forms == [*ladder[: ladder.index(accepted) + 1], accepted]


CHAT = (Message("system", "Be brief."), Message("user", "What?"), Message("assistant", "x"), Message("assistant", "y"))


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "System role not supported", {}),
        (500, "Jinja Exception: System role not supported", {}),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", {}),
        (400, "Unsupported value", {"param": "messages[0].role"}),
        (422, "messages.0.role: Input should be 'user' or 'assistant'", {}),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it", {}),
        (400, "Conversation roles must alternate user/assistant/user/assistant/...", {}),
        (500, "Error rendering prompt: Conversation roles must alternate user/assistant/", {}),
        (400, "Only user and assistant roles are supported!", {}),
        (400, "This model does not support system messages.", {}),
    ],
)
async def test_system_text_moves_where_its_role_is_refused(status, message, more):
    sent = []

    def answer(body):
        roles = [message["role"] for message in body["messages"]]
        if "system" in roles or any(one == next_one for one, next_one in pairwise(roles)):
            return refusal(status, message, **more)
        return streamed(delta(content="x", finish="stop"), counted(1, 1))

    async with model(answer, requests=sent, retries=3) as served:
        for _ in range(2):
            [reply] = [reply async for reply in served.complete(replace(ask(), messages=CHAT))]
            assert reply.text == "x"
    assert len(sent) == 3  # one refusal, remembered
    assert sent[-1]["stream_options"]
    assert sent[-1]["messages"] == [
        {"role": "user", "content": "Be brief.\n\nWhat?"},
        {"role": "assistant", "content": "x\n\ny"},
    ]


async def test_an_innocent_system_role_is_kept():
    sent = []

    def answer(body):
        return refusal(400, "no tools or stream_options") if "stream_options" in body else whole("x")

    await answers(model(answer, requests=sent), replace(ask(), messages=CHAT))
    assert all(body["messages"][0]["role"] == "system" for body in sent)


async def test_a_too_long_prompt_blames_no_part():
    sent = []
    served = model(lambda body: refusal(400, "maximum context length is 4096 tokens"), requests=sent)
    with pytest.raises(EndpointError, match="maximum context length"):
        await answers(served, ask(n=3, schema=SCHEMA))
    assert len(sent) == 1


@pytest.mark.parametrize("cut", [LOST, "{not json", {"error": {"message": "overloaded"}}])
async def test_complete_choices_of_a_broken_stream_are_kept(cut):
    sent = []

    def answer(body):
        if body.get("stream"):
            return streamed(delta(0, "kept", "stop"), delta(1, "half"), cut, end=None)
        return whole("again")

    replies = await answers(model(answer, requests=sent), ask(n=2))
    assert [(reply.index, reply.text) for reply in replies] == [(0, "kept"), (1, "again")]
    assert total(replies)[0] == 2
    assert [body.get("n") for body in sent] == [2, None]


async def test_choices_lost_for_good_are_problem_replies():
    def answer(body):
        if body.get("stream"):
            return streamed(delta(0, "kept", "stop"), delta(1, "half"), LOST, end=None)
        return refusal(500, "out of memory")

    replies = await answers(model(answer), ask(n=2))
    assert texts(replies) == ["kept", ""]
    assert "out of memory" in replies[1].problem


async def test_an_endless_stream_is_cut():
    def endless():
        while True:
            yield delta(content="a ")

    def answer(body):
        response = streamed()
        response.stream.events = endless()
        return response

    with anyio.fail_after(patience(5)):
        [reply] = await answers(model(answer, timeout=0.05), ask())
    assert reply.problem == "truncated by endpoint.timeout" and reply.text.startswith("a a")


@pytest.mark.parametrize(
    ("wanted", "most", "sent_limit", "problem"),
    [
        (None, None, None, "truncated"),
        (50, None, 50, "truncated by budget.tokens"),
        (50, 90, 50, "truncated by budget.tokens"),
        (None, 90, 90, "truncated by endpoint.max_tokens"),
        (200, 90, 90, "truncated by endpoint.max_tokens"),
    ],
)
async def test_the_limit_that_cuts_a_reply_is_named(wanted, most, sent_limit, problem):
    sent = []
    served = model(lambda body: whole("par", finish="length"), requests=sent, max_tokens=most)
    [reply] = await answers(served, ask(max_tokens=wanted))
    assert (reply.problem, sent[-1].get("max_tokens")) == (problem, sent_limit)


async def test_a_limit_that_the_server_refuses_cuts_nothing():
    def answer(body):
        return refusal(400, "max_tokens is unknown") if "max_tokens" in body else whole("par", finish="length")

    [reply] = await answers(model(answer, max_tokens=90), ask())
    assert reply.problem == "truncated"


@pytest.mark.parametrize(
    ("response", "text", "problem"),
    [
        (lambda: streamed(delta(content="par", finish="length")), "par", "truncated"),
        (lambda: streamed(delta(content="", finish="stop")), "", "empty"),
        (lambda: streamed(delta(finish="content_filter")), "", "refused"),
        (lambda: streamed(delta(refusal="I cannot"), delta(finish="stop")), "", "refused"),
        (lambda: streamed(delta(reasoning_content="hm"), delta(content="x", finish="stop")), "x", ""),
        (lambda: streamed(delta(content="<think>hm</think>\nx", finish="stop")), "x", ""),
        (lambda: streamed(delta(content="<think>hm, for ever", finish="length")), "", "truncated"),
        (lambda: whole("par", finish="length"), "par", "truncated"),
        (lambda: whole(None), "", "empty"),
        (lambda: whole(None, refusal="I cannot"), "", "refused"),
        (lambda: whole([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), "in parts", ""),
        (lambda: whole(), "", "empty"),
    ],
)
async def test_the_problem_of_a_reply_is_named(response, text, problem):
    [reply] = await answers(model(lambda body: response()), ask())
    assert (reply.text, reply.problem) == (text, problem)


@pytest.mark.timeout(20)
async def test_closing_early_ends_the_requests():
    numbers, under_way = count(), set()

    def answer(body):
        if "n" in body:
            return refusal(400, "n must be 1")
        number = next(numbers)
        response = streamed(*([anyio.sleep_forever] if number > 1 else []), delta(content="x", finish="stop"))

        async def aclose():
            under_way.discard(number)

        under_way.add(number)
        response.stream.aclose = aclose
        return response

    async with model(answer) as served:
        replies = served.complete(ask(n=4))
        assert [(await anext(replies)).text for _ in range(2)] == ["x", "x"]
        assert under_way == {2, 3}
        await replies.aclose()
        assert not under_way


async def test_a_refused_sampling_parameter_is_left_out():
    def answer(body):
        if "temperature" in body:
            return refusal(400, "Unsupported value: 'temperature' does not support 0.8 with this model.")
        return streamed(delta(content="x", finish="stop"))

    assert texts(await answers(model(answer), ask(temperature=0.8))) == ["x"]
