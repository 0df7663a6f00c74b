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

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import Endpoint, Secrets
from exploracoder_jupyter.llm import request_body
from exploracoder_jupyter.llm.async_closing import Closing
from exploracoder_jupyter.llm.endpoint_connection import Answer, Connection
from exploracoder_jupyter.llm.endpoint_faults import Fault
from exploracoder_jupyter.llm.reply_choices import Choice
from exploracoder_jupyter.llm.reply_delivery import Asked, Delivery, Received
from exploracoder_jupyter.llm.request_body import Refused
from exploracoder_jupyter.llm.traffic_limits import Report
from exploracoder_jupyter.pipeline.merged_streams import Put, merged
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply

if TYPE_CHECKING:
    import httpx2


class OpenAIModel(Closing):
    """A model behind an OpenAI-compatible endpoint. Close it, or use it as an async context.

    Token counts are the server's, or estimated from the number of characters where it sends none. `calls` counts
    requests that the server started to answer.

    Raises:
        UsageError: the endpoint's `base_url` is not an address, or no model is set.
        EndpointError: there is no key for OpenAI's own address, or the key is invalid.
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
        self._name = endpoint.model
        self._timeout = endpoint.timeout
        self._connection = Connection(endpoint, secrets, model=endpoint.model, report=report, http_client=http_client)
        self._refused: Refused = frozenset()

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._name

    async def complete(self, request: ModelRequest) -> AsyncGenerator[Reply]:
        """Yield the choices, each as soon as it is complete; `seconds` is the time spent waiting for it.

        A choice that is finally lost while others are complete becomes a reply with a problem. Whatever the endpoint
        does, this ends within (number of choices + 1) times the endpoint's timeout.

        Raises:
            EndpointError: the endpoint refused, or stayed unreachable within the retry limits.
        """
        since = time.monotonic()
        # The timeout limits silence; choices that keep arriving may take longer.
        deadline = anyio.current_time() + self._timeout * (1 + request.sampling.n)
        async with aclosing(self._replies(Asked(request, deadline))) as replies:
            async for reply in replies:
                yield replace(reply, usage=replace(reply.usage, seconds=time.monotonic() - since))
                since = time.monotonic()

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        await self._connection.aclose()

    async def _replies(self, asked: Asked) -> AsyncGenerator[Reply]:
        n = asked.request.sampling.n
        missing = set(range(n))
        if n > 1 and "n" not in self._refused:
            async with aclosing(merged([partial(self._ask_together, asked, n)])) as replies:
                async for reply in replies:
                    missing.discard(reply.index)
                    yield reply
        jobs = [partial(self._ask_one, asked, index) for index in sorted(missing)]
        async with aclosing(merged(jobs)) as replies:
            async for reply in replies:
                missing.discard(reply.index)
                yield reply
        for reply in _lost(asked, missing):
            yield reply

    async def _ask_together(self, asked: Asked, n: int, put: Put[Reply]) -> None:
        """Request all choices at once; those that do not arrive are left to the caller."""
        answer = await self._send(asked, n=n, stream=True)
        if isinstance(answer, Fault):
            raise await self._connection.explained(answer)
        received = await Delivery(asked, range(n), put).receive(answer)
        self._learn(received)
        asked.broken, asked.fault = not received.whole, received.fault
        if received.whole and 0 < received.shown < n:
            self._refused |= {"n"}

    async def _ask_one(self, asked: Asked, index: int, put: Put[Reply]) -> None:
        """Request one choice, and once more without a stream if the first attempt does not deliver it."""
        fault = asked.fault
        for streamed in (False,) if asked.broken else (True, False):
            if fault and fault.is_final:
                break
            answer = await self._send(asked, n=1, stream=streamed)
            if isinstance(answer, Fault):
                fault = answer.after(fault)
                break
            received = await Delivery(asked, (index,), put).receive(answer)
            if received.complete:
                return
            self._learn(received)
            fault = received.fault.after(fault) if received.fault else None
            if fault and streamed and not fault.is_final:
                self._connection.report_retry(fault)
        if fault:
            asked.lost[index] = await self._connection.explained(fault)
        else:
            put(asked.reply(index, Choice(index, "", "empty", 0)))

    async def _send(self, asked: Asked, *, n: int, stream: bool) -> Answer:
        """Make the request, and repeat it without features that the server refuses."""
        refused = self._refused
        while True:
            sent = request_body.body(asked.request, self._name, n=n, stream=stream, refused=refused)
            answer = await self._connection.chat(sent, deadline=asked.deadline)
            if not isinstance(answer, Fault):
                self._refused |= refused
                return answer
            feature = request_body.blamed(answer, sent)
            if feature is None:
                return answer
            refused |= {feature}

    def _learn(self, received: Received) -> None:
        """Stop using streams if one ends normally but without any complete choice."""
        if received.ended and not received.complete:
            self._refused |= {"stream"}


def _lost(asked: Asked, missing: set[int]) -> list[Reply]:
    """Return the replies for choices that are finally lost; if all are lost, raise the error."""
    if missing and len(missing) == asked.request.sampling.n:
        raise asked.lost[min(missing)]
    return [asked.reply(index, Choice(index, "", asked.lost[index].message, 0)) for index in sorted(missing)]
