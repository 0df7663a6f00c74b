"""Builds the body of a chat request, and simplifies it step by step for servers that refuse parts of it.

Every optional part of a request is a `Feature`. When a server answers 400 or 422, the feature that it names, or else
the most likely one, is removed and the request is repeated; the caller remembers what was refused. For structured
replies the steps are `json_schema`, then `json_object`, then only the prompt; the reply is repaired by
`pipeline.prompting.reply_parsing` in any case, because servers that accept a schema may still ignore it. Where tools
are refused, calls and their answers are sent as text. Where the role `system` is refused, or roles have to alternate,
the system's text begins the first message of the user.
"""

from __future__ import annotations

import re
from typing import Literal, cast

from pydantic import JsonValue

from exploracoder_jupyter.llm import tool_calls
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting import inline_lookups

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
        "stop": {"stop": [inline_lookups.END]} if request.inline_lookups else {},
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
