"""An OpenAI-compatible endpoint in a few lines: a function of the request's JSON body, behind a mock transport."""

import json

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.core.types import Message, Sampling
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import IntroduceInputs

KEY = "sk-very-secret-0123456789"
URL = "http://models.example/v1"


def model(answer, *, key=KEY, requests=None, **settings):
    """An `OpenAIModel` whose endpoint answers `answer(body)`; bodies are appended to `requests`."""

    def handle(request):
        body = json.loads(request.content or b"{}")
        if requests is not None:
            requests.append(body)
        return answer(body) if request.url.path.endswith("/chat/completions") else models(request)

    settings = {"model": "m", "base_url": URL, "retries": 0, **settings}
    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    return OpenAIModel(Endpoint(**settings), Secrets(api_key=key), http_client=client)


def models(request):
    assert request.url.path.endswith("/models")
    return httpx.Response(200, json={"data": [{"id": "small"}, {"id": "large"}]})


def ask(n=1, schema=None, text="What?", **sampling):
    inputs = IntroduceInputs(("lib",), "readme")
    return ModelRequest("propose", inputs, (Message("user", text),), Sampling(n=n, **sampling), "1", schema)


async def answers(model, request):
    """All replies, in the order in which they came."""
    async with model:
        return [reply async for reply in model.complete(request)]


def whole(*texts, finish="stop", usage=(10, 5), **message):
    """A reply in one piece with these choices."""
    choices = [
        {"index": i, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        for i, text in enumerate(texts)
    ]
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return httpx.Response(200, json=body)


def delta(index=0, content=None, finish=None, **more):
    return {"choices": [{"index": index, "delta": {"content": content, **more}, "finish_reason": finish}]}


def counted(prompt, completion):
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"choices": [], "usage": usage}


class Events(httpx.AsyncByteStream):
    """A stream of server-sent events; an exception among them breaks it off, an async function is waited for."""

    def __init__(self, events):
        self.events = events

    async def __aiter__(self):
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            if callable(event):
                await event()
                continue
            data = event if isinstance(event, str) else json.dumps(event)
            yield f"data: {data}\n\n".encode()


def streamed(*events, end="[DONE]"):
    return httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=Events([*events, *([end] if end else [])])
    )


def refusal(status, message="no", **more):
    return httpx.Response(status, json={"error": {"message": message, **more}}, headers={"retry-after-ms": "1"})
