"""A model that gives the replies recorded in a trace again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from exploracoder_jupyter.errors import EndpointError
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.types import Exchange, Message, Usage


class ReplayModel:
    """Answers by step, subject and what the model said before, in the order of the recording; each exchange is given
    once.

    What it said before tells apart the choices that each went on by itself after looking something up. Where the run
    takes another course than the recorded one, the next exchange of the same step answers. The recorded usage comes
    with the first reply.
    """

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._left = list(exchanges)
        self._name = exchanges[0].model if exchanges else "replay"

    @property
    def name(self) -> str:
        """The recorded model's name."""
        return self._name

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies.

        Raises:
            EndpointError: nothing is recorded for this request, or it failed when it was recorded.
        """
        exchange = self._next(request)
        if not exchange.replies:
            raise EndpointError(f"The recorded request failed: {exchange.problem or 'it has no reply'}")
        for index, text in enumerate(exchange.replies):
            usage = exchange.usage if index == 0 else Usage()
            calls = exchange.calls[index] if exchange.calls else ()
            yield Reply(index, text, usage, "" if calls else _problem(exchange, text), calls)

    def _next(self, request: ModelRequest) -> Exchange:
        same_step = [exchange for exchange in self._left if exchange.step == request.step]
        same = [exchange for exchange in same_step if exchange.subject == request.subject]
        said = _said(request.messages)
        going_on = [exchange for exchange in same if _said(exchange.messages) == said]
        found = next(iter(going_on or same or same_step), None)
        if found is None:
            about = f" of {request.subject!r}" if request.subject else ""
            raise EndpointError(
                f"The trace holds no reply for step {request.step!r}{about}.",
                remedy="It was cut off here, or the run takes another course now.",
            )
        self._left.remove(found)
        return found


def _said(messages: Sequence[Message]) -> list[Message]:
    """The model's own part of a conversation."""
    return [message for message in messages if message.role == "assistant"]


def _problem(exchange: Exchange, text: str) -> str:
    """The exchange's problem, where it is plain which reply had it."""
    return exchange.problem if len(exchange.replies) == 1 or not text.strip() else ""
