"""A server that answers as an endpoint with one model, `toy`, would."""

import json

from werkzeug import Response

_LISTED = {"object": "list", "data": [{"id": "toy", "object": "model", "created": 1, "owned_by": "me"}]}
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def offer_toy(server, answer):
    """Let the server list the model and answer each request by `answer(request)`; returns its address."""
    server.expect_request("/v1/models").respond_with_json(_LISTED)
    server.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return server.url_for("/v1").replace("localhost", "127.0.0.1")


def reply(request, write):
    """The reply to a request; each of its choices is `write(prompt, index)`."""
    body = json.loads(request.data)
    prompt = body["messages"][-1]["content"]
    choices = [
        {"index": at, "finish_reason": "stop", "message": {"role": "assistant", "content": write(prompt, at)}}
        for at in range(body.get("n") or 1)
    ]
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "toy", "choices": choices, "usage": _USAGE}
    return Response(json.dumps(whole), content_type="application/json")
