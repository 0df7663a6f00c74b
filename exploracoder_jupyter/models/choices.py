"""The choices of one request as they grow from a stream, or come whole; and its cost, split over them.

Only what the model answers is kept, its text and the tools that it calls: reasoning, whether in a field of its own or
between think tags, is not part of the reply. Servers are not trusted to send every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exploracoder_jupyter.models.toolcalls import GrowingCalls, calls_of
from exploracoder_jupyter.pipeline.replies import without_thinking
from exploracoder_jupyter.types import Call, Usage

if TYPE_CHECKING:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

_CHARACTERS_PER_TOKEN = 3.5
"""A usual ratio of code and English; used where the server does not count."""

_CAUTIOUS = 6.0
"""More characters than a token has, so that what is said of early choices never exceeds the server's count."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One complete choice."""

    index: int
    """As the server numbers it."""
    text: str
    problem: str
    raw: int
    """Characters that the server sent for it, reasoning included."""
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class Growing:
    """The choices of a stream, fed chunk by chunk."""

    usage: CompletionUsage | None = None
    characters: int = 0
    """Received so far, for all choices, reasoning included."""
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _calls: dict[int, GrowingCalls] = field(default_factory=dict)
    _raw: dict[int, int] = field(default_factory=dict)
    _refusing: set[int] = field(default_factory=set)
    _done: set[int] = field(default_factory=set)

    def feed(self, chunk: ChatCompletionChunk) -> list[Choice]:
        """Take one chunk; returns the choices that it completes."""
        self.usage = getattr(chunk, "usage", None) or self.usage
        done = []
        for part in getattr(chunk, "choices", None) or ():
            index = getattr(part, "index", None) or 0
            if index in self._done:
                continue
            if part.delta is not None:
                self._grow(index, part.delta)
            if part.finish_reason:
                self._done.add(index)
                done.append(self._choice(index, part.finish_reason))
        return done

    def cut(self) -> list[Choice]:
        """What there is of the choices that did not end, as truncated ones."""
        begun = sorted(self._texts.keys() - self._done)
        self._done.update(begun)
        return [self._choice(index, "length") for index in begun]

    @property
    def begun(self) -> int:
        """How many choices the server has shown."""
        return len(self._texts.keys() | self._done)

    def _grow(self, index: int, delta: object) -> None:
        text = _text(getattr(delta, "content", None))
        self._texts.setdefault(index, []).append(text)
        received = len(text) + len(
            _text(getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None))
        )
        received += self._calls.setdefault(index, GrowingCalls()).feed(getattr(delta, "tool_calls", None))
        self._raw[index] = self._raw.get(index, 0) + received
        self.characters += received
        if getattr(delta, "refusal", None):
            self._refusing.add(index)

    def _choice(self, index: int, finish: str) -> Choice:
        text = "".join(self._texts.get(index, ()))
        calls = self._calls[index].calls() if index in self._calls else ()
        return _choice(index, text, finish, refused=index in self._refusing, raw=self._raw.get(index, 0), calls=calls)


def whole(completion: ChatCompletion) -> list[Choice]:
    """The choices of a reply that came in one piece."""
    made = []
    for place, choice in enumerate(getattr(completion, "choices", None) or ()):
        message = getattr(choice, "message", None)
        text = _text(getattr(message, "content", None))
        raw = len(text) + len(_text(getattr(message, "reasoning_content", None)))
        calls = calls_of(getattr(message, "tool_calls", None))
        raw += sum(len(call.tool) + len(call.argument) for call in calls)
        refused = bool(getattr(message, "refusal", None))
        made.append(_choice(place, text, choice.finish_reason or "stop", refused=refused, raw=raw, calls=calls))
    return made


@dataclass(slots=True)
class Bill:
    """The cost of one request, split over its replies so that the sum is right.

    The server tells the count at the end, when the first replies are long used. So those carry a cautious estimate,
    and the last one what is missing from the count. A server that does not count is estimated by characters.
    """

    prompt_characters: int
    _said: Usage = field(default_factory=Usage)

    def part(self, choice: Choice) -> Usage:
        """The cost said of a choice that comes before the count; the first one carries the call and the prompt."""
        first = self._said.calls == 0
        prompt = int(self.prompt_characters / _CAUTIOUS) if first else 0
        usage = Usage(int(first), prompt, int(choice.raw / _CAUTIOUS))
        self._said += usage
        return usage

    def rest(self, counted: CompletionUsage | None, characters: int) -> Usage:
        """What is left to say at the end."""
        prompt = getattr(counted, "prompt_tokens", None) or _estimate(self.prompt_characters)
        completion = getattr(counted, "completion_tokens", None) or _estimate(characters)
        return Usage(
            1 - self._said.calls,
            max(0, prompt - self._said.prompt_tokens),
            max(0, completion - self._said.completion_tokens),
        )


def _choice(index: int, text: str, finish: str, *, refused: bool, raw: int, calls: tuple[Call, ...]) -> Choice:
    kept = without_thinking(text)
    problem = _problem(kept, finish, refused, calls)
    return Choice(index, kept, problem, raw, () if problem else calls)


def _problem(text: str, finish: str, refused: bool, calls: tuple[Call, ...]) -> str:
    if refused or finish == "content_filter":
        return "refused"
    if finish == "length":
        return "truncated"
    return "" if text.strip() or calls else "empty"


def _text(content: object) -> str:
    """The text of a message's content, which some servers send in parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _estimate(characters: int) -> int:
    return int(characters / _CHARACTERS_PER_TOKEN)
