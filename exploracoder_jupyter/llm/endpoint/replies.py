"""Receives the answer to one request, and splits it into replies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Call, Usage
from exploracoder_jupyter.llm.endpoint.exchanges import as_count, as_list, as_object, as_text
from exploracoder_jupyter.llm.endpoint.faults import Fault
from exploracoder_jupyter.llm.tool_calls import CallBuilder, parse_calls
from exploracoder_jupyter.pipeline.concurrency import Put
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.documentation import CHARACTERS_PER_TOKEN
from exploracoder_jupyter.pipeline.prompting.lookup_notation import find_request
from exploracoder_jupyter.pipeline.prompting.requests import BUDGET, LENGTH, TIMEOUT, TRUNCATED, truncated_by
from exploracoder_jupyter.text.replies import without_thinking

if TYPE_CHECKING:
    from exploracoder_jupyter.llm.endpoint.connection import Stream


# Builds the choices of one request from a stream or a whole reply, and splits the cost of the request over them.
#
# Only the model's answer is kept, its text and tool calls: reasoning, in a field of its own or between think tags,
# is not part of the reply. Servers are not trusted to send every field.

_CAUTIOUS_RATIO = 6.0
"""More characters than a token has, so that the usage reported for early choices never exceeds the server's count."""

_MAX_TOKENS = 100_000_000

_MAX_CHOICES = 1000

MAX_TEXT = 200_000
"""Characters of one choice that are used, without reasoning; the rest is truncated."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One complete choice."""

    index: int
    text: str
    problem: str
    raw: int
    """Characters that the server sent for it, reasoning included."""
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class ChoiceBuilder:
    """Builds the choices of a stream, chunk by chunk."""

    inline_lookups: bool = False
    """Whether a choice is complete where a look-up in its code wants the answer; what follows would be made up."""
    usage: JsonValue = None
    characters: int = 0
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _calls: dict[int, CallBuilder] = field(default_factory=dict)
    _raw: dict[int, int] = field(default_factory=dict)
    _refused: set[int] = field(default_factory=set)
    _done: set[int] = field(default_factory=set)

    def feed(self, chunk: JsonValue) -> list[Choice]:
        """Add one chunk; return the choices that it completes."""
        self.usage = as_object(chunk).get("usage") or self.usage
        done = []
        for part in map(as_object, as_list(as_object(chunk).get("choices"))):
            index = as_count(part.get("index"), _MAX_CHOICES) or 0
            if index in self._done:
                continue
            if part.get("delta") is not None:
                self._append(index, as_object(part["delta"]))
            finish, written = part.get("finish_reason"), self._texts.get(index, ())
            if not finish and self.inline_lookups and written and ">" in written[-1]:
                finish = "stop" if find_request("".join(written)) else None
            if finish:
                self._done.add(index)
                done.append(self._choice(index, as_text(finish)))
        return done

    def truncate_unfinished(self, by: str) -> list[Choice]:
        """Return the unfinished choices as truncated by this limit."""
        begun = sorted(self._texts.keys() - self._done)
        self._done.update(begun)
        choices = [self._choice(index, "length") for index in begun]
        return [replace(one, problem=truncated_by(by)) if one.problem == TRUNCATED else one for one in choices]

    @property
    def started(self) -> int:
        """Number of choices that the server started."""
        return len(self._texts.keys() | self._done)

    def _append(self, index: int, delta: Mapping[str, JsonValue]) -> None:
        text = _text(delta.get("content"))
        self._texts.setdefault(index, []).append(text)
        received = len(text) + _reasoning(delta)
        received += self._calls.setdefault(index, CallBuilder()).feed(delta.get("tool_calls"))
        self._raw[index] = self._raw.get(index, 0) + received
        self.characters += received
        if delta.get("refusal"):
            self._refused.add(index)

    def _choice(self, index: int, finish: str) -> Choice:
        text = "".join(self._texts.get(index, ()))
        calls = self._calls[index].calls() if index in self._calls else ()
        return _choice(index, text, finish, refused=index in self._refused, raw=self._raw.get(index, 0), calls=calls)


def parse_choices(completion: JsonValue) -> list[Choice]:
    """Return the choices of a reply that arrived in one piece."""
    choices = as_list(as_object(completion).get("choices"))[:_MAX_CHOICES]
    return [_parse_choice(place, as_object(choice)) for place, choice in enumerate(choices)]


def _parse_choice(place: int, choice: Mapping[str, JsonValue]) -> Choice:
    message = as_object(choice.get("message"))
    text, calls = _text(message.get("content")), parse_calls(message.get("tool_calls"))
    raw = len(text) + _reasoning(message) + sum(len(call.tool) + len(call.argument) for call in calls)
    finish, refused = as_text(choice.get("finish_reason")), bool(message.get("refusal"))
    return _choice(place, text, finish, refused=refused, raw=raw, calls=calls)


@dataclass(slots=True)
class CostSplit:
    """The cost of one request, split over its replies so that the sum is correct.

    The server sends the counts at the end, when the first replies are already in use. Therefore those carry a cautious
    estimate, and the last one the difference to the counts. If the server sends none, characters are used to estimate.
    """

    prompt_characters: int
    _reported: Usage = field(default_factory=Usage)

    def early_usage(self, choice: Choice) -> Usage:
        """Return the cost of a choice that comes before the counts; the first one carries the call and the prompt."""
        first = self._reported.calls == 0
        prompt = int(self.prompt_characters / _CAUTIOUS_RATIO) if first else 0
        usage = Usage(int(first), prompt, int(choice.raw / _CAUTIOUS_RATIO))
        self._reported += usage
        return usage

    def final_usage(self, counted: JsonValue, characters: int) -> Usage:
        """Return the remaining cost at the end; the server's counts are used where they are plausible token counts."""
        counts = as_object(counted)
        prompt = as_count(counts.get("prompt_tokens"), _MAX_TOKENS) or _estimate(self.prompt_characters)
        completion = as_count(counts.get("completion_tokens"), _MAX_TOKENS) or _estimate(characters)
        cached = as_count(as_object(counts.get("prompt_tokens_details")).get("cached_tokens"), prompt)
        return Usage(
            1 - self._reported.calls,
            max(0, prompt - self._reported.prompt_tokens),
            max(0, completion - self._reported.completion_tokens),
            cached_tokens=cached or 0,
        )


def _choice(index: int, text: str, finish: str, *, refused: bool, raw: int, calls: tuple[Call, ...]) -> Choice:
    visible = without_thinking(text)
    problem = _problem(visible, finish, refused, calls)
    if len(visible) > MAX_TEXT:
        visible, problem = visible[:MAX_TEXT], truncated_by(LENGTH)
    return Choice(index, visible, problem, raw, () if problem else calls)


def _problem(text: str, finish: str, refused: bool, calls: tuple[Call, ...]) -> str:
    if refused or finish == "content_filter":
        return "refused"
    if finish == "length":
        return TRUNCATED
    return "" if text.strip() or calls else "empty"


def _text(content: JsonValue) -> str:
    """Return the text of a message's content, which some servers send in parts."""
    if isinstance(content, str):
        return content
    return "".join(as_text(as_object(part).get("text")) for part in as_list(content))


def _reasoning(message: Mapping[str, JsonValue]) -> int:
    return len(_text(message.get("reasoning_content") or message.get("reasoning")))


def _estimate(characters: int) -> int:
    return int(characters / CHARACTERS_PER_TOKEN)


# Receives the answer to one chat request and delivers its choices as replies, each as soon as it is complete.
#
# The last choice to complete waits for the end of the stream, where the server reports the cost.

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
