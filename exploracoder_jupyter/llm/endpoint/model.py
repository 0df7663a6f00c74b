"""A model behind any OpenAI-compatible endpoint, and the bodies of its requests."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

import anyio
from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.llm import tool_calls
from exploracoder_jupyter.llm.endpoint.connection import Answer, Connection, ConnectionUser
from exploracoder_jupyter.llm.endpoint.exchanges import Report
from exploracoder_jupyter.llm.endpoint.faults import Fault
from exploracoder_jupyter.llm.endpoint.replies import Choice, Delivery, DeliveryResult, PendingRequest
from exploracoder_jupyter.pipeline.concurrency import Put, merge_streams
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting import lookup_notation
from exploracoder_jupyter.pipeline.prompting.requests import BUDGET, MAX_TOKENS

if TYPE_CHECKING:
    from exploracoder_jupyter.core.http_client import httpx


# Builds the body of a chat request, and simplifies it step by step for servers that refuse parts of it.
#
# Every optional part of a request is a `Feature`. When a server answers 400 or 422, the feature that it names, or
# else the most likely one, is removed and the request is repeated; the caller remembers what was refused. For
# structured replies the steps are `json_schema`, then `json_object`, then only the prompt; the reply is repaired by
# `pipeline.prompting.replies` in any case, because servers that accept a schema may still ignore it. Where
# tools are refused, calls and their answers are sent as text. Where the role `system` is refused, or roles have to
# alternate, the system's text begins the first message of the user.

Feature = Literal[
    "system_role",
    "json_schema",
    "json_object",
    "tool_choice",
    "tools",
    "stream_options",
    "n",
    "stream",
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
]
Refused = frozenset[Feature]

Body = dict[str, JsonValue]

_PATTERNS: dict[Feature, re.Pattern[str]] = {
    "system_role": re.compile(
        r"\bmessages\W{1,3}\d+\W{1,3}role\b|roles? must alternate|alternating .{0,40}roles?|developer instruction"
        r"|(?:system|developer)\W{0,3} (?:role|message|prompt|instruction)s?\b|\brole\b.{0,60}\bsystem\b"
        r"|\bonly .{0,60}\broles? (?:are|is) supported",
        re.I,
    ),
    "json_schema": re.compile(r"response_format|json_schema|json_object|structured|grammar|guided", re.I),
    "json_object": re.compile(r"response_format|json_object|structured|grammar|guided", re.I),
    "tool_choice": re.compile(r"\btool_choice\b", re.I),
    "tools": re.compile(r"\btools?\b|\btool_|function[ _-]?call", re.I),
    "stream_options": re.compile(r"stream_options|include_usage", re.I),
    # The word n alone; not the n of an escaped newline.
    "n": re.compile(r"(?<![\w\\])n(?!\w)|completion choice|multiple (choices|completions)", re.I),
    "stream": re.compile(r"\bstream(ing)?\b", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "max_tokens": re.compile(r"max_tokens", re.I),
    "stop": re.compile(r"\bstop\b", re.I),
}
_LIKELY_REFUSED: tuple[Feature, ...] = ("json_schema", "json_object", "tool_choice", "tools", "stream_options", "n")
_TOO_LONG = re.compile(r"context[ _](length|window|size)|too (long|large|many tokens)|maximum context", re.I)


def build_body(request: ModelRequest, model: str, *, n: int, stream: bool, refused: Refused) -> Body:
    """Return the request as JSON, without the features that this server refused."""
    sampling = request.sampling
    native = bool(request.tools) and "tools" not in refused
    parts: dict[Feature, Body] = {
        "n": {"n": n} if n > 1 else {},
        "stream": {"stream": True} if stream else {},
        "stream_options": {"stream_options": {"include_usage": True}} if stream and "stream" not in refused else {},
        "temperature": _optional("temperature", sampling.temperature),
        "top_p": _optional("top_p", sampling.top_p),
        "max_tokens": _optional("max_tokens", sampling.max_tokens),
        # The arrow before an answer is also Python, and the text after it is ignored.
        "stop": {"stop": [lookup_notation.END]} if request.inline_lookups else {},
        "tools": {"tools": [tool_calls.tool_definition(tool) for tool in request.tools]} if request.tools else {},
        "tool_choice": {"tool_choice": "none"} if native and not request.may_call else {},
        **_response_format(request, refused),
    }
    messages = tool_calls.message_bodies(request.messages, request.tools, native=native)
    if "system_role" in refused:
        messages = tool_calls.without_system_role(messages)
    made: Body = {"model": model, "messages": messages}
    for feature, part in parts.items():
        if feature not in refused:
            made |= part
    return made


def find_refused(fault: Fault, sent: Body) -> Feature | None:
    """Return the feature of `sent` to remove after this fault; `None` when removing one cannot help."""
    if fault.kind != "status" or fault.status == 429 or fault.refuses_key or _TOO_LONG.search(fault.text):
        return None
    form = sent.get("response_format")
    kind = form.get("type") if isinstance(form, dict) else None
    present: list[Feature] = ["system_role"] if tool_calls.has_system_role(sent["messages"]) else []
    present += [*([cast(Feature, kind)] if kind else []), *(feature for feature in _PATTERNS if feature in sent)]
    matching = [feature for feature in present if _PATTERNS[feature].search(fault.parameter or fault.text)]
    if matching:
        return matching[0]
    likely = [feature for feature in _LIKELY_REFUSED if feature in present]
    unexplained = fault.status in (400, 422) and not fault.parameter
    return likely[0] if likely and unexplained else None


def strict_schema(schema: JsonValue) -> JsonValue:
    """Return the schema as strict servers require it: all properties required, no others allowed, no defaults."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict_schema(value) for key, value in schema.items() if key != "default"}
    properties = made.get("properties")
    if made.get("type") == "object" and isinstance(properties, dict):
        made |= {"additionalProperties": False, "required": list(properties)}
    return made


def _response_format(request: ModelRequest, refused: Refused) -> dict[Feature, Body]:
    if request.schema is None:
        return {}
    if "json_schema" in refused:
        return {"json_object": {"response_format": {"type": "json_object"}}}
    title = re.sub(r"[^\w-]", "_", str(request.schema.get("title", "reply")))
    form: JsonValue = {"name": title, "strict": True, "schema": strict_schema(request.schema)}
    return {"json_schema": {"response_format": {"type": "json_schema", "json_schema": form}}}


def _optional(name: str, value: float | int | None) -> Body:
    return {} if value is None else {name: value}


# A model behind any OpenAI-compatible endpoint.
#
# One request asks for all choices (`n`) as a stream, and each is yielded as soon as it is complete. Missing
# choices, because the server ignores or refuses `n` or the stream broke off, are then requested one by one,
# concurrently. What a server refuses or ignores is remembered for the lifetime of the model. A choice whose stream
# breaks off is requested again, once, without a stream.


class OpenAIModel(ConnectionUser):
    """A model behind an OpenAI-compatible endpoint. Close it, or use it as an async context.

    Token counts are the server's, or estimated from the number of characters where it sends none. `calls` counts
    requests that the server started to answer.

    Raises UsageError if the endpoint's `base_url` is not an address, or no model is set; EndpointError if there is no
    key for OpenAI's own address, or the key is invalid.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        secrets: Secrets,
        *,
        report: Report | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        if not endpoint.model:
            raise UsageError("No model is set.", remedy="Add --model, or set model in the configuration.")
        self.name = endpoint.model
        self._timeout = endpoint.timeout
        self._max_tokens = endpoint.max_tokens
        self._connection = Connection(endpoint, secrets, model=endpoint.model, report=report, http_client=http_client)
        self._refused: Refused = frozenset()

    async def complete(self, request: ModelRequest) -> AsyncGenerator[Reply]:
        """Yield the choices, each as soon as it is complete; `seconds` is the time spent waiting for it.

        A choice that is finally lost while others are complete becomes a reply with a problem. Whatever the endpoint
        does, this ends within (number of choices + 1) times the endpoint's timeout.

        Raises EndpointError if the endpoint refused, or stayed unreachable within the retry limits.
        """
        since = time.monotonic()
        # The timeout limits silence; choices that keep arriving may take longer.
        deadline = anyio.current_time() + self._timeout * (1 + request.sampling.n)
        async with aclosing(self._replies(self._limited(request, deadline))) as replies:
            async for reply in replies:
                yield replace(reply, usage=replace(reply.usage, seconds=time.monotonic() - since))
                since = time.monotonic()

    def _limited(self, request: ModelRequest, deadline: float) -> PendingRequest:
        """Return the request with the lower one of the limits to the length of a reply."""
        wanted, most = request.sampling.max_tokens, self._max_tokens
        if most is None or (wanted is not None and wanted <= most):
            return PendingRequest(request, deadline, cut_by="" if wanted is None else BUDGET)
        limited = replace(request, sampling=replace(request.sampling, max_tokens=most))
        return PendingRequest(limited, deadline, cut_by=MAX_TOKENS)

    async def _replies(self, pending: PendingRequest) -> AsyncGenerator[Reply]:
        n = pending.request.sampling.n
        missing = set(range(n))
        if n > 1 and "n" not in self._refused:
            async with aclosing(merge_streams([partial(self._request_all, pending, n)])) as replies:
                async for reply in replies:
                    missing.discard(reply.index)
                    yield reply
        jobs = [partial(self._request_one, pending, index) for index in sorted(missing)]
        async with aclosing(merge_streams(jobs)) as replies:
            async for reply in replies:
                missing.discard(reply.index)
                yield reply
        if len(missing) == n:
            raise pending.lost[min(missing)]
        for index in sorted(missing):
            yield pending.reply(index, Choice(index, "", pending.lost[index].message, 0))

    async def _request_all(self, pending: PendingRequest, n: int, put: Put[Reply]) -> None:
        answer = await self._send(pending, n=n, stream=True)
        if isinstance(answer, Fault):
            raise await self._connection.to_error(answer)
        received = await Delivery(pending, range(n), put).receive(answer)
        self._learn_from(received)
        pending.stream_broken, pending.fault = not received.all_complete, received.fault
        if received.all_complete and 0 < received.started < n:
            self._refused |= {"n"}

    async def _request_one(self, pending: PendingRequest, index: int, put: Put[Reply]) -> None:
        """Request one choice, and once more without a stream if the first attempt does not deliver it."""
        fault = pending.fault
        for streamed in (False,) if pending.stream_broken else (True, False):
            if fault and fault.is_final:
                break
            answer = await self._send(pending, n=1, stream=streamed)
            if isinstance(answer, Fault):
                fault = answer.plus(fault)
                break
            received = await Delivery(pending, (index,), put).receive(answer)
            if received.complete:
                return
            self._learn_from(received)
            fault = received.fault.plus(fault) if received.fault else None
            if fault and streamed and not fault.is_final:
                self._connection.report_retry(fault)
        if fault:
            pending.lost[index] = await self._connection.to_error(fault)
        else:
            put(pending.reply(index, Choice(index, "", "empty", 0)))

    async def _send(self, pending: PendingRequest, *, n: int, stream: bool) -> Answer:
        refused = self._refused
        while True:
            sent = build_body(pending.request, self.name, n=n, stream=stream, refused=refused)
            answer = await self._connection.chat(sent, deadline=pending.deadline)
            if "max_tokens" in refused:
                pending.cut_by = ""
            if not isinstance(answer, Fault):
                self._refused |= refused
                return answer
            feature = find_refused(answer, sent)
            if feature is None:
                return answer
            refused |= {feature}

    def _learn_from(self, received: DeliveryResult) -> None:
        """Stop using streams if one ends normally but without any complete choice."""
        if received.ended and not received.complete:
            self._refused |= {"stream"}
