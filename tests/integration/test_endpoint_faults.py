"""An endpoint that is a real server: refusals, silence, and streams that break off in the middle of the wire."""

import json
import re
import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest
from werkzeug import Response

from exploracoder_jupyter.config import Endpoint, Secrets
from exploracoder_jupyter.errors import EndpointError
from exploracoder_jupyter.models import EndpointEmbedder, OpenAIModel, probe, resolve_model
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.requests import IntroduceInputs
from exploracoder_jupyter.types import Message, Sampling

pytestmark = pytest.mark.anyio
CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def ask(n=1):
    return ModelRequest("propose", IntroduceInputs(("lib",), ""), (Message("user", "What?"),), Sampling(n=n), "1")


def endpoint(url, **settings):
    return Endpoint(**{"model": "m", "base_url": url, "retries": 1, "timeout": 5.0, **settings})


async def answers(settings, n=1):
    async with OpenAIModel(settings, Secrets(api_key=KEY)) as model:
        return [reply async for reply in model.complete(ask(n))]


def whole(text):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def chunk(index, content=None, finish=None):
    choice = {"index": index, "delta": {"content": content}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def event_stream(*chunks):
    return Response(b"".join([*chunks, b"data: [DONE]\n\n"]), content_type="text/event-stream")


class Wire:
    """What a handler needs to misbehave on the wire."""

    def __init__(self, handler):
        self.handler = handler
        self.body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))

    def begin(self, content_type="text/event-stream", *, status=200, chunked=False):
        self.handler.send_response(status)
        self.handler.send_header("content-type", content_type)
        self.handler.send_header("transfer-encoding" if chunked else "connection", "chunked" if chunked else "close")
        self.handler.end_headers()
        self.handler.close_connection = True

    def write(self, data, *, chunked=False):
        self.handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
        self.handler.wfile.flush()

    def json(self, value, status=200):
        data = json.dumps(value).encode()
        self.begin("application/json", status=status)
        self.write(data)

    def reset(self):
        """End the connection the hard way: the client sees a reset, not an end."""
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.connection.close()


@contextmanager
def served(respond):
    """The URL of a server that answers each request by `respond(wire)`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            with suppress(OSError):
                respond(Wire(self))

        def finish(self):
            with suppress(OSError, ValueError):
                super().finish()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_busy_server_is_asked_again(httpserver):
    httpserver.expect_ordered_request(CHAT).respond_with_json(
        {"error": {"message": "busy"}}, 429, {"retry-after-ms": "5"}
    )
    httpserver.expect_ordered_request(CHAT).respond_with_response(event_stream(chunk(0, "x", "stop")))
    [reply] = await answers(endpoint(httpserver.url_for("/v1")))
    assert (reply.text, reply.usage.calls) == ("x", 1)


async def test_a_key_is_sent_as_a_header_and_never_said(httpserver):
    httpserver.expect_request(CHAT, headers={"Authorization": f"Bearer {KEY}"}).respond_with_json(
        {"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401
    )
    with pytest.raises(EndpointError, match="refused the key") as caught:
        await answers(endpoint(httpserver.url_for("/v1")))
    assert KEY not in str(caught.value) and caught.value.__context__ is None


async def test_an_unknown_model_is_answered_with_those_that_exist(httpserver):
    httpserver.expect_request(CHAT).respond_with_json({"error": {"message": "model not found"}}, 404)
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "a"}, {"id": "b"}]})
    with pytest.raises(EndpointError, match=r"has no model 'm'\. It has: a, b"):
        await answers(endpoint(httpserver.url_for("/v1")))


async def test_an_address_without_v1_is_said(httpserver):
    httpserver.expect_request(re.compile(".*")).respond_with_data("Not Found", 404)
    with pytest.raises(EndpointError, match=r"\(404\).*/v1") as caught:
        await answers(endpoint(httpserver.url_for("/")))
    assert httpserver.url_for("/").rstrip("/") in str(caught.value)


async def test_nobody_there_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EndpointError, match=f"{url} cannot be reached") as caught:
            await answers(endpoint(url, retries=0))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


async def test_a_silent_server_is_given_up_after_the_timeout():
    release = threading.Event()
    with served(lambda wire: release.wait(20)) as url:
        began = time.monotonic()
        with pytest.raises(EndpointError, match=r"sent no answer within 0\.3 s"):
            await answers(endpoint(url, timeout=0.3, retries=0))
        assert time.monotonic() - began < 5
        release.set()


@pytest.mark.parametrize("ending", ["reset", "cut chunk", "clean end", "silence"])
async def test_a_stream_that_breaks_off_keeps_what_is_complete_and_asks_for_the_rest(ending):
    asked = []
    release = threading.Event()

    def respond(wire):
        asked.append(wire.body)
        if not wire.body.get("stream"):
            wire.json(whole("again"))
            return
        chunked = ending == "cut chunk"
        wire.begin(chunked=chunked)
        wire.write(chunk(0, "kept", "stop") + chunk(1, "half"), chunked=chunked)
        if ending == "silence":
            release.wait(20)
        elif ending == "reset":
            time.sleep(0.1)
            wire.reset()

    with served(respond) as url:
        replies = await answers(endpoint(url, timeout=0.5), n=2)
        release.set()
    assert sorted((reply.index, reply.text) for reply in replies) == [(0, "kept"), (1, "again")]
    assert [body.get("n") for body in asked] == [2, None]
    assert sum(reply.usage.calls for reply in replies) == 2


async def test_choices_are_passed_on_while_the_server_still_writes():
    may_go_on = threading.Event()

    def respond(wire):
        wire.begin()
        wire.write(chunk(0, "early", "stop"))
        assert may_go_on.wait(20)
        wire.write(chunk(1, "late", "stop") + b"data: [DONE]\n\n")

    seen = []
    with served(respond) as url, anyio.fail_after(10):
        async with OpenAIModel(endpoint(url), Secrets()) as model:
            async for reply in model.complete(ask(2)):
                seen.append(reply.text)
                may_go_on.set()
    assert seen == ["early", "late"]


async def test_a_server_that_knows_one_choice_only_is_asked_at_once_for_all():
    together, asked = threading.Barrier(3, timeout=10), []

    def respond(wire):
        if "n" in wire.body:
            wire.json({"error": {"message": "'n' must be 1"}}, 400)
            return
        asked.append(wire.body)
        if len(asked) > 1:
            together.wait()
        wire.begin()
        wire.write(chunk(0, "x", "stop") + b"data: [DONE]\n\n")

    with served(respond) as url:
        replies = await answers(endpoint(url), n=4)
    assert [reply.text for reply in replies] == ["x"] * 4


async def test_cancelling_closes_the_connections():
    gone = threading.Event()

    def respond(wire):
        wire.begin()
        try:
            while True:
                wire.write(chunk(0, "a "))
                time.sleep(0.02)
        except OSError:
            gone.set()

    with served(respond) as url:
        async with OpenAIModel(endpoint(url), Secrets()) as model:
            with anyio.move_on_after(0.3) as scope:
                async for _ in model.complete(ask()):
                    pytest.fail("nothing is ever complete")
            assert scope.cancelled_caught
            assert await anyio.to_thread.run_sync(gone.wait, 5)


async def test_a_local_server_is_reached_whatever_proxy_is_set(httpserver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    httpserver.expect_request(CHAT).respond_with_response(event_stream(chunk(0, "x", "stop")))
    [reply] = await answers(endpoint(httpserver.url_for("/v1"), retries=0))
    assert reply.text == "x"


async def test_probe_says_what_answers(httpserver):
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "small"}]})
    found = await probe(endpoint(httpserver.url_for("/v1"), model="small"), Secrets())
    assert (found.reachable, found.local, found.models, found.remedy) == (True, True, ("small",), "")
    found = await probe(endpoint(httpserver.url_for("/v1"), model="big"), Secrets())
    assert found.reachable and "does not list 'big'" in found.sentence and "small" in found.remedy


async def test_probe_tells_refused_from_unreachable_and_from_no_list(httpserver):
    httpserver.expect_request("/closed/models").respond_with_json({}, 401)
    closed = await probe(endpoint(httpserver.url_for("/closed")), Secrets(api_key=KEY))
    assert not closed.reachable and "refused the key" in closed.sentence and closed.remedy
    httpserver.expect_request("/bare/models").respond_with_data("Not Found", 404)
    bare = await probe(endpoint(httpserver.url_for("/bare")), Secrets())
    assert bare.reachable and "does not list its models" in bare.sentence
    gone = await probe(endpoint("http://127.0.0.1:9/v1"), Secrets())
    assert not gone.reachable and "cannot be reached" in gone.sentence
    wrong = await probe(endpoint("nonsense"), Secrets())
    assert not wrong.reachable and "is not an address" in wrong.sentence


async def test_the_only_model_of_a_server_needs_no_name(httpserver):
    httpserver.expect_ordered_request("/v1/models").respond_with_json({"data": [{"id": "only"}]})
    httpserver.expect_ordered_request("/v1/models").respond_with_json({"data": [{"id": "a"}, {"id": "b"}]})
    unnamed = endpoint(httpserver.url_for("/v1"), model=None)
    assert (await resolve_model(unnamed, Secrets())).model == "only"
    with pytest.raises(EndpointError, match=r"No model is named .*It has: a, b"):
        await resolve_model(unnamed, Secrets())


async def test_an_endpoint_without_embeddings_says_so(httpserver):
    httpserver.expect_request("/v1/embeddings").respond_with_json({"error": {"message": "no such path"}}, 404)
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "m"}]})
    settings = endpoint(httpserver.url_for("/v1"), embedding_model="e")
    async with EndpointEmbedder(settings, Secrets()) as embedder:
        with pytest.raises(EndpointError, match="has no model 'e'"):
            await embedder.embed(["text"])
