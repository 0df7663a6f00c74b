"""Models that replay recorded replies: all of a run's, or those whose requests need not be repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import anyio

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Exchange, Message, Usage
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.tool_call_text import pending_calls


class ReplayModel:
    """Answers by step, subject and the model's earlier replies, in recorded order; each exchange is used once.

    The earlier replies distinguish choices that continued separately after a look-up. Where the run deviates from the
    recorded one, the next exchange of the same step answers. The recorded usage comes with the first reply. With
    `paced`, replies take as long as when they were recorded.
    """

    def __init__(self, exchanges: Sequence[Exchange], *, paced: bool = False) -> None:
        self._remaining = list(exchanges)
        self.name = exchanges[0].model if exchanges else "replay"
        self._paced = paced

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies. Raises EndpointError if no reply is recorded for this request, or the recorded
        request failed.
        """
        exchange = self._next(request)
        pause = exchange.usage.seconds / max(len(exchange.replies), 1) if self._paced else 0.0
        if not exchange.replies:
            await anyio.sleep(pause)
            raise EndpointError(f"The recorded request had no reply: {exchange.problem or 'it was cut off'}.")
        for reply in _replies(exchange):
            await anyio.sleep(pause)
            yield reply

    def _next(self, request: ModelRequest) -> Exchange:
        same_step = [exchange for exchange in self._remaining if exchange.step == request.step]
        same = [exchange for exchange in same_step if exchange.subject == request.subject]
        earlier = _assistant_messages(request.messages)
        continuing = [exchange for exchange in same if _assistant_messages(exchange.messages) == earlier]
        found = next(iter(continuing or same or same_step), None)
        if found is None:
            name = f"subtask {request.subject}" if request.subject.isdigit() else request.subject
            where = f" for {name}" if name else ""
            if not self._remaining:
                raise EndpointError(f"The recorded run had no further reply{where}.")
            raise EndpointError(f"The recorded run made no such request{where}.")
        self._remaining.remove(found)
        return found


class PartialReplayModel:
    """Reuses replies that a model of the same name gave to the same request, each exchange once and at no cost; other
    requests go to the model itself. A reply that calls a look-up is reused only where look-ups are available.
    """

    def __init__(
        self, model: Model, exchanges: Sequence[Exchange], *, clean: Callable[[str], str] = lambda text: text
    ) -> None:
        """`clean` makes texts comparable with those of the recorded exchanges, by removing what may differ."""
        self._model = model
        self.name = model.name
        self._clean = clean
        whole = [one for one in exchanges if one.replies and one.problem != "interrupted"]
        self._known = [(one, self._comparable(one.messages)) for one in whole]

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies, or those of the model. Raises EndpointError from the model."""
        if known := self._take(request):
            for reply in _replies(known):
                yield replace(reply, usage=Usage())
            return
        async with aclosing(self._model.complete(request)) as replies:  # type: ignore[type-var]  # a generator
            async for reply in replies:
                yield reply

    def _take(self, request: ModelRequest) -> Exchange | None:
        wanted = self._comparable(request.messages) if self._known else ()
        for place, (exchange, known) in enumerate(self._known):
            is_same = (exchange.model, exchange.step, exchange.sampling) == (self.name, request.step, request.sampling)
            looks_up = any(exchange.calls) or any(pending_calls(text) for text in exchange.replies)
            if is_same and known == wanted and (request.tools or not looks_up):
                del self._known[place]
                return exchange
        return None

    def _comparable(self, messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
        return tuple((message.role, self._clean(message.content)) for message in messages)


def _replies(exchange: Exchange) -> list[Reply]:
    """Return the recorded replies; the first one carries all of the recorded usage."""
    usage = [exchange.usage, *(Usage() for _ in exchange.replies)]
    calls = exchange.calls or ((),) * len(exchange.replies)
    replies = []
    for index, text in enumerate(exchange.replies):
        had_problem = not calls[index] and (len(exchange.replies) == 1 or not text.strip())
        replies.append(Reply(index, text, usage[index], exchange.problem if had_problem else "", calls[index]))
    return replies


def _assistant_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the model's earlier replies, without the fields of calls that an endpoint adds."""
    return [
        replace(message, calls=tuple(replace(call, extra="") for call in message.calls))
        for message in messages
        if message.role == "assistant"
    ]
