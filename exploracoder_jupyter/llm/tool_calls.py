"""Tool calls in the protocol of OpenAI-compatible endpoints: parsed from a stream or a whole message, and serialized.

Servers differ: some number the calls of a stream, some only give each an id, some send the arguments as an object, and
some send fields of their own, which they want to have back with the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Call, Message
from exploracoder_jupyter.llm.endpoint.exchanges import as_count, as_list, as_object, as_text
from exploracoder_jupyter.pipeline.ports import Tool
from exploracoder_jupyter.pipeline.prompting.lookup_notation import parse_argument, write_call

_MAX_CALLS = 100
"""Limit for one choice; further calls are ignored."""
_MAX_ARGUMENTS = 20_000
"""Limit in characters; a call with more is ignored, because all tools take a short text."""


_MAX_EXTRA = 100_000
"""Limit in characters for the further fields of a call; more are not sent back."""
_CALL_FIELDS = ("index", "id", "type", "function")
_FUNCTION_FIELDS = ("name", "arguments")


@dataclass(slots=True)
class _PartialCall:
    id: str
    name: str = ""
    arguments: str = ""
    extra: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(slots=True)
class CallBuilder:
    """Builds the tool calls of one choice, piece by piece."""

    _parts: dict[tuple[int, int], _PartialCall] = field(default_factory=dict)
    """By the index that the server sends, and a counter of the ids that share that index."""

    def feed(self, pieces: JsonValue) -> int:
        """Add the pieces of one chunk; return their number of characters."""
        return sum(self._take(as_object(piece)) for piece in as_list(pieces))

    def calls(self) -> tuple[Call, ...]:
        """Return the calls that can be parsed, in order."""
        calls: list[Call] = []
        for part in self._parts.values():
            argument = parse_argument(part.arguments) if len(part.arguments) <= _MAX_ARGUMENTS else ""
            if part.name and argument:  # some servers send no id, but require one in the answer
                calls.append(Call(part.name, argument, part.id or f"call_{len(calls) + 1}", _dump(part.extra)))
        return tuple(calls)

    def _take(self, piece: Mapping[str, JsonValue]) -> int:
        number, id_ = as_count(piece.get("index"), _MAX_CALLS) or 0, _text(piece.get("id"))
        function = as_object(piece.get("function"))
        name, arguments = _text(function.get("name")), _text(function.get("arguments"))
        same = [key for key in self._parts if key[0] == number]
        part = self._parts[same[-1]] if same else None
        if part is None or (id_ and part.id and id_ != part.id):
            if len(self._parts) >= _MAX_CALLS:
                return len(name) + len(arguments)
            part = self._parts[number, len(same)] = _PartialCall(id_)
        part.id, part.name = part.id or id_, part.name or name
        part.extra |= _further(piece, _CALL_FIELDS)
        if inner := _further(function, _FUNCTION_FIELDS):
            part.extra["function"] = {**as_object(part.extra.get("function")), **inner}
        if len(part.arguments) <= _MAX_ARGUMENTS:
            part.arguments += arguments
        return len(name) + len(arguments)


def parse_calls(given: JsonValue) -> tuple[Call, ...]:
    """Return the calls of a message that arrived in one piece."""
    growing = CallBuilder()
    growing.feed([{**as_object(item), "index": number} for number, item in enumerate(as_list(given)[:_MAX_CALLS])])
    return growing.calls()


def message_bodies(given: Sequence[Message], tools: Sequence[Tool], *, native: bool) -> list[JsonValue]:
    """Return the messages in the form that is sent: with native calls, or as text for a server without tools."""
    if native:
        parameters = {tool.name: tool.parameter for tool in tools}
        return [_native_message(message, parameters) for message in given]
    return [{"role": role, "content": content} for role, content in _as_text(given)]


def _native_message(message: Message, parameters: dict[str, str]) -> JsonValue:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.answers, "content": message.content}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    calls: list[JsonValue] = []
    for call in message.calls:
        arguments = json.dumps({parameters.get(call.tool, "query"): call.argument}, ensure_ascii=False)
        extra = _load(call.extra)
        function = {**as_object(extra.get("function")), "name": call.tool, "arguments": arguments}
        calls.append({**extra, "id": call.id, "type": "function", "function": function})
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def _as_text(given: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield calls as lines of the assistant's text, and consecutive answers as one message of the user."""
    answers: list[str] = []
    for message in given:
        if message.role == "tool":
            answers.append(message.content)
            continue
        if answers:
            yield "user", "\n\n".join(answers)
            answers = []
        lines = [write_call(call) for call in message.calls]
        yield message.role, "\n".join(filter(None, [message.content, *lines]))
    if answers:
        yield "user", "\n\n".join(answers)


def without_system_role(given: Sequence[JsonValue]) -> list[JsonValue]:
    """Return messages in which the roles of user and assistant alternate: the system's text begins the user's first
    message, and consecutive messages of one role are joined.
    """
    made: list[JsonValue] = []
    for message in map(as_object, given):
        plain: dict[str, JsonValue] = {**message, "role": "user" if message["role"] == "system" else message["role"]}
        last = as_object(made[-1]) if made else {}
        if last.get("role") == plain["role"] in ("user", "assistant") and not (
            last.get("tool_calls") or plain.get("tool_calls")
        ):
            made[-1] = {**last, "content": "\n\n".join(filter(None, map(as_text, (last["content"], plain["content"]))))}
        else:
            made.append(plain)
    return made


def has_system_role(given: JsonValue) -> bool:
    """Whether `without_system_role` would change these messages."""
    messages = as_list(given)
    return without_system_role(messages) != list(messages)


def tool_definition(tool: Tool) -> JsonValue:
    """Return the tool in the form in which requests offer it."""
    parameter: JsonValue = {tool.parameter: {"type": "string", "description": tool.wanted}}
    form: JsonValue = {"type": "object", "properties": parameter, "required": [tool.parameter]}
    return {"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": form}}


def _further(given: Mapping[str, JsonValue], known: Sequence[str]) -> dict[str, JsonValue]:
    return {name: value for name, value in given.items() if name not in known and value is not None}


def _dump(extra: dict[str, JsonValue]) -> str:
    text = json.dumps(extra, ensure_ascii=False) if extra else ""
    return text if len(text) <= _MAX_EXTRA else ""


def _load(extra: str) -> Mapping[str, JsonValue]:
    """Return the further fields of a call; none if their text is damaged, as that of a trace may be."""
    try:
        return as_object(json.loads(extra or "{}"))
    except (ValueError, RecursionError):
        return {}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, dict) else ""
