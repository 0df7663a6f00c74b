"""Receives the answer to one chat request and delivers its choices as replies, each as soon as it is complete.

The last choice to complete waits for the end of the stream, where the server reports the cost.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault
from exploracoder_jupyter.llm.endpoint.reply_choices import (
    Choice,
    ChoiceBuilder,
    CostSplit,
    parse_choices,
)
from exploracoder_jupyter.llm.endpoint.tolerant_json import as_object
from exploracoder_jupyter.pipeline.merged_streams import Put
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.passage_packing import CHARACTERS_PER_TOKEN
from exploracoder_jupyter.pipeline.prompting.truncated_replies import (
    BUDGET,
    LENGTH,
    TIMEOUT,
    TRUNCATED,
    truncated_by,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.llm.endpoint.endpoint_connection import Stream

_MAX_CHARACTERS = 1_000_000
"""Limit for one choice in a stream, reasoning included: more than any model's limit for a reply."""
_MAX_EMPTY_EVENTS = 20_000
"""Events of a stream that add nothing to a reply; servers send a few, and some more to keep the connection alive."""


@dataclass(slots=True)
class PendingRequest:
    """A model request in progress: the cost not reported yet, and the choices that are lost."""

    request: ModelRequest
    deadline: float
    """The time by which the request ends, whatever the endpoint does."""
    unreported: Usage = field(default_factory=Usage)
    lost: dict[int, EndpointError] = field(default_factory=dict)
    cut_by: str = ""
    """The setting that limits the length of a reply, if the request does."""
    stream_broken: bool = False
    fault: Fault | None = None

    def reply(self, index: int, choice: Choice, usage: Usage | None = None) -> Reply:
        """Return the reply for a choice; its usage includes the cost not reported yet."""
        total, self.unreported = (usage or Usage()) + self.unreported, Usage()
        is_ours = choice.problem == TRUNCATED and self.cut_by
        problem = truncated_by(self.cut_by) if is_ours else choice.problem
        return Reply(index, choice.text, total, problem, choice.calls)

    @property
    def characters(self) -> int:
        """Length of the prompt."""
        return sum(len(message.content) for message in self.request.messages)


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """How an answer ended."""

    ended: bool
    """Whether the answer ended normally, as far as the protocol shows."""
    started: int
    complete: int
    fault: Fault | None = None

    @property
    def all_complete(self) -> bool:
        """Whether every started choice is complete: some servers end the connection normally when they break off."""
        return self.ended and self.complete >= self.started


class Delivery:
    """Delivers the choices of one HTTP request: the server's choice i becomes the reply `indexes[i]`."""

    def __init__(self, pending: PendingRequest, indexes: Sequence[int], put: Put[Reply]) -> None:
        self._pending = pending
        self._indexes = indexes
        self._put = put
        self._cost = CostSplit(pending.characters)
        self._max_characters, self._limit = _MAX_CHARACTERS * len(indexes), LENGTH
        left = pending.request.tokens_left
        if left is not None and left * CHARACTERS_PER_TOKEN < self._max_characters:
            self._max_characters, self._limit = int(left * CHARACTERS_PER_TOKEN), BUDGET
        self._complete = 0
        self._last: Choice | None = None

    async def receive(self, answer: JsonValue | Stream) -> DeliveryResult:
        """Deliver the complete choices. At the deadline or the budget, a stream is cut and its choices truncated."""
        if isinstance(answer, AsyncGenerator):
            return await self._receive_stream(answer)
        choices = parse_choices(answer)
        self._take(choices)
        self._finish(as_object(answer).get("usage"), sum(choice.raw for choice in choices))
        return DeliveryResult(True, len(choices), self._complete)

    async def _receive_stream(self, stream: Stream) -> DeliveryResult:
        is_inline, fault = self._pending.request.inline_lookups, None
        builder, without_text = ChoiceBuilder(is_inline), 0
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Fault):
                    fault = chunk
                    break
                before = builder.characters
                self._take(builder.feed(chunk))
                without_text += builder.characters == before
                if is_inline and self._complete >= len(self._indexes):
                    break  # closing the stream stops the generation
                if builder.characters > self._max_characters:
                    fault = Fault("too large", f"its reply has more than {builder.characters:,} characters")
                    break
                if without_text > _MAX_EMPTY_EVENTS:
                    fault = Fault("too large", f"its stream has more than {_MAX_EMPTY_EVENTS:,} events without text")
                    break
        if fault and fault.is_final and builder.characters:
            self._take(builder.truncate_unfinished(TIMEOUT if fault.kind == "unfinished" else self._limit))
        self._finish(builder.usage, builder.characters)
        return DeliveryResult(fault is None, builder.started, self._complete, fault)

    def _take(self, choices: Iterable[Choice]) -> None:
        for choice in choices:
            if choice.index >= len(self._indexes):
                continue
            self._complete += 1
            if self._complete == len(self._indexes):
                self._last = choice
            else:
                self._put(self._pending.reply(self._indexes[choice.index], choice, self._cost.early_usage(choice)))

    def _finish(self, counted: JsonValue, characters: int) -> None:
        rest = self._cost.final_usage(counted, characters)
        if self._last is None:
            self._pending.unreported += rest
        else:
            self._put(self._pending.reply(self._indexes[self._last.index], self._last, rest))
