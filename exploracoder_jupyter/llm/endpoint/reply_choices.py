"""Builds the choices of one request from a stream or a whole reply, and splits the cost of the request over them.

Only the model's answer is kept, its text and tool calls: reasoning, in a field of its own or between think tags, is not
part of the reply. Servers are not trusted to send every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Call, Usage
from exploracoder_jupyter.llm.endpoint.tolerant_json import as_count, as_list, as_object, as_text
from exploracoder_jupyter.llm.tool_calls import CallBuilder, parse_calls
from exploracoder_jupyter.pipeline.prompting.inline_lookups import find_request
from exploracoder_jupyter.pipeline.prompting.passage_packing import CHARACTERS_PER_TOKEN
from exploracoder_jupyter.pipeline.prompting.truncated_replies import LENGTH, TRUNCATED, truncated_by
from exploracoder_jupyter.text.thinking_removal import without_thinking

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
