"""Look-ups that a model writes into the text of its reply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.python_code import is_python
from exploracoder_jupyter.core.types import ApiDoc, Call
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.prompting.documentation import truncate
from exploracoder_jupyter.pipeline.prompting.replies import json_values, parse_code, raise_unreadable
from exploracoder_jupyter.text.replies import without_thinking

# The notation in which a fine-tuned model looks an API up in the middle of its code (ToolCoder, sections III and
# IV).
#
# `<API>APISearch(query)->answer</API>` stands before a call. The model writes up to the arrow; the answer is
# inserted, and the model continues behind it. `jupyter explora finetune` teaches exactly this form. It needs no
# token of its own, so it works with any tokenizer. An answer begins with a letter: then no usual tokenizer joins it
# with the arrow.

BEGIN: Final = "<API>APISearch("
ARROW: Final = ")->"
END: Final = "</API>"
MOST_FOUND: Final = 4
NOTHING_FOUND: Final = "Nothing is found."

_LONGEST_SIGNATURE: Final = 90
_LONGEST_SUMMARY: Final = 110
_NAMED_FENCE = re.compile(r"\s*```\w")
_FENCE = re.compile(r"^\s*```\w*")
_REQUEST = re.compile(rf"{re.escape(BEGIN)}(?P<query>[^\n]*?){re.escape(ARROW)}")
_LOOKUP = re.compile(rf"{_REQUEST.pattern}(?P<answer>.*?){re.escape(END)}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InlineRequest:
    """A look-up that waits for its answer."""

    written: str
    """The text up to the arrow; whatever follows it was made up by the model."""
    query: str
    code: str


@dataclass(frozen=True, slots=True)
class InlineLookup:
    """A look-up with its answer, as found in annotated code."""

    query: str
    answer: str
    answer_span: tuple[int, int]
    """Where the answer stands, with the closing mark: what the model does not write itself."""


def find_request(text: str) -> InlineRequest | None:
    """Return the first look-up that a model has written, if any."""
    found = _REQUEST.search(text)
    return InlineRequest(text[: found.end()], found["query"].strip(), text[: found.start()]) if found else None


def find_lookups(text: str) -> list[InlineLookup]:
    """Return the look-ups of annotated code, in order."""
    return [
        InlineLookup(found["query"], found["answer"], (found.start("answer"), found.end()))
        for found in _LOOKUP.finditer(text)
    ]


def write_lookup(query: str, answer: str) -> str:
    """Return a look-up with its answer, to be inserted before a call."""
    return f"{BEGIN}{query}{ARROW}{answer}{END}"


def strip_lookups(text: str) -> str:
    """Return code without its look-ups."""
    return _LOOKUP.sub("", text)


def has_code(text: str) -> bool:
    """Whether there is more than the mark of a code block in the text."""
    return bool(_FENCE.sub("", text).strip())


def begins_anew(text: str) -> bool:
    """Whether a reply repeats the program from its start: the server did not let the model continue its message."""
    return bool(_NAMED_FENCE.match(text))


def format_answer(apis: Sequence[ApiDoc]) -> str:
    """Return path, signature and first sentence of the APIs found, one line each."""
    lines = (
        f"{api.path}{truncate(api.signature, _LONGEST_SIGNATURE)}: {truncate(api.summary, _LONGEST_SUMMARY)}"
        for api in apis
    )
    return "\n".join(lines).replace(END, "") or NOTHING_FOUND


# Finds the look-ups that a model writes into the text of its reply, and removes them from the code.
#
# The requested form is ToolCoder's (section 3): `APISearch(what you want to do)` alone on a line, optionally
# followed by an arrow and a made-up answer; every tool has such a form. Servers that do not know their model's
# native form of tool calls leave it in the text, as JSON between tags or alone; it has the same meaning. A reply
# whose code is complete requests nothing, whatever it mentions, unless a look-up is the last thing in it.

SEARCH: Final = "search_api"
TOOLS: Final = (SEARCH, "get_signature", "get_source", "get_examples")
_FORMS: Final = dict(zip(("APISearch", "APISignature", "APISource", "APIExamples"), TOOLS, strict=True))
"""The tools as they are written in text."""
_FORM: Final = "|".join(_FORMS)

_LINE = re.compile(
    rf"^[ \t]*(?:[-*>][ \t]+)?[`*]*(?:<API>)?(?P<form>{_FORM})\((?P<query>[^\n]+?)\)"
    r"[ \t]*(?:(?:->|→)[^\n]*?)?(?:</API>)?[`*]*[ \t]*$",
    re.MULTILINE,
)
_NESTED = re.compile(rf"(?:(?:{_FORM})\()+")
_FUNCTION = re.compile(r"<function=(?P<name>\w+)>(?P<body>(?:(?!<function=).)*?)</function>", re.DOTALL)
"""Qwen's form, with or without its tags."""
_TAGGED = re.compile(
    r"<tool_call>(?P<json>.*?)(?:</tool_call>|\Z)"
    r"|\[TOOL_CALLS\](?P<list>.*)\Z"
    rf"|{_FUNCTION.pattern}",
    re.DOTALL,
)
_PARAMETER = re.compile(r"<parameter=\w+>(?P<value>(?:(?!<parameter=).)*?)</parameter>", re.DOTALL)
_CALL_KEYS = ("arguments", "parameters", "args", "input")
_FENCES = re.compile(r"[`~\s]*")
_QUOTES = "\"'“”`"


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The look-ups of a reply and its remaining text."""

    calls: tuple[Call, ...]
    rest: str
    last: bool
    """Whether the text ends with a look-up."""


def parse_calls(text: str) -> ParsedReply:
    """Split the text of a reply into its look-ups and the rest."""
    text = without_thinking(text).replace("\r\n", "\n")
    is_json = text.lstrip().startswith(("{", "[{", "```json", "```tool"))
    alone = tuple(_json_calls(text)) if is_json else ()
    if alone:
        return ParsedReply(alone, "", last=True)
    found = sorted([*_tagged_calls(text), *_search_lines(text)], key=lambda item: item[0].start())
    calls = tuple(call for _, calls in found for call in calls)
    kept, end = "", 0
    for match, _ in found:  # the line ends after the look-ups are removed with them
        kept += text[end : match.start()]
        end = max(end, match.end() + text.startswith("\n", match.end()))
    last = bool(found) and _FENCES.fullmatch(text, found[-1][0].end()) is not None
    return ParsedReply(calls, kept + text[end:], last)


@heuristic("looking for look-ups", lambda text: ())
def pending_calls(text: str) -> tuple[Call, ...]:
    """Return the look-ups that must be answered before the reply can continue; none if its code is complete."""
    reply = parse_calls(text)
    if reply.calls and not reply.last:
        with suppress(ReplyError):
            return () if is_python(parse_code(reply.rest)) else reply.calls
    return reply.calls


@heuristic("reading a reply", raise_unreadable)
def parse_code_without_calls(text: str) -> str:
    """Return the code of a reply without the look-ups in it; ReplyError if that is no Python."""
    reply = parse_calls(text)
    if not reply.calls:
        return parse_code(text)
    code = parse_code(reply.rest)
    if not is_python(code):
        raise ReplyError("the code holds look-ups of APIs, and is no valid Python without them.")
    return code


def write_call(call: Call) -> str:
    """Return the line of text that requests the same as a call of a tool."""
    return f"{next((form for form, tool in _FORMS.items() if tool == call.tool), 'APISearch')}({call.argument})"


def parse_argument(given: JsonValue) -> str:
    """Return the single text argument of a tool call, from JSON or its text, under any name."""
    if isinstance(given, str):
        value = next((found for found in json_values(given) if isinstance(found, dict)), None) if "{" in given else None
        return parse_argument(value) if value else given.strip().strip(_QUOTES)
    items = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list) else [given]
    return next((item.strip() for item in items if isinstance(item, str) and item.strip()), "")


def _search_lines(text: str) -> Iterator[tuple[re.Match[str], list[Call]]]:
    for match in _LINE.finditer(text):
        query = _NESTED.split(match["query"])[-1]
        if query != match["query"]:
            query = query.rstrip(")")
        if query := query.strip().strip(_QUOTES).strip():
            yield match, [Call(_FORMS[match["form"]], query)]


def _tagged_calls(text: str) -> Iterator[tuple[re.Match[str], list[Call]]]:
    for match in _TAGGED.finditer(text):
        in_tags = match["json"] or match["list"] or ""
        calls: list[Call] = []
        for function in _FUNCTION.finditer("" if match["list"] else match[0]):
            value = _PARAMETER.search(function["body"])
            if value and function["name"] in TOOLS:
                calls.append(Call(function["name"], value["value"].strip()))
        if calls := [*calls, *_json_calls(in_tags)]:
            yield match, calls


def _json_calls(text: str) -> Iterator[Call]:
    value = next(iter(json_values(text)), None) if "{" in text else None
    for outer in value if isinstance(value, list) else [value]:
        if not isinstance(outer, dict):
            continue
        inner = outer.get("function")
        item = inner if isinstance(inner, dict) else outer
        name = item.get("name") or inner
        arguments = next((item[key] for key in _CALL_KEYS if key in item), None)
        if isinstance(name, str) and name in TOOLS and (found := parse_argument(arguments)):
            yield Call(name, found)
