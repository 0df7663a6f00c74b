"""A model behind any OpenAI-compatible endpoint.

One request asks for all choices (`n`) as a stream, and each is yielded as soon as it is complete. Missing choices,
because the server ignores or refuses `n` or the stream broke off, are then requested one by one, concurrently. What a
server refuses or ignores is remembered for the lifetime of the model. A choice whose stream breaks off is requested
again, once, without a stream.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from exploracoder_jupyter.core.configuration.endpoint_settings import Endpoint
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.llm.endpoint import request_body
from exploracoder_jupyter.llm.endpoint.endpoint_connection import Answer, Connection, ConnectionUser
from exploracoder_jupyter.llm.endpoint.exchange_traffic import Report
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault
from exploracoder_jupyter.llm.endpoint.reply_choices import Choice
from exploracoder_jupyter.llm.endpoint.reply_delivery import Delivery, DeliveryResult, PendingRequest
from exploracoder_jupyter.llm.endpoint.request_body import Refused
from exploracoder_jupyter.pipeline.merged_streams import Put, merge_streams
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.truncated_replies import BUDGET, MAX_TOKENS

if TYPE_CHECKING:
    import httpx2


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
        http_client: httpx2.AsyncClient | None = None,
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
            sent = request_body.build_body(pending.request, self.name, n=n, stream=stream, refused=refused)
            answer = await self._connection.chat(sent, deadline=pending.deadline)
            if "max_tokens" in refused:
                pending.cut_by = ""
            if not isinstance(answer, Fault):
                self._refused |= refused
                return answer
            feature = request_body.find_refused(answer, sent)
            if feature is None:
                return answer
            refused |= {feature}

    def _learn_from(self, received: DeliveryResult) -> None:
        """Stop using streams if one ends normally but without any complete choice."""
        if received.ended and not received.complete:
            self._refused |= {"stream"}
