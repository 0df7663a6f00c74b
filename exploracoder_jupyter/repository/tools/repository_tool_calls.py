"""The tools that need reasoning, as a model calls them: by a name and one text.

A model writes one call a line, `get_signature: Cart.total`, which any model can do; the lists and forms of calls that
models know, `- get_signature("Cart.total")`, mean the same.
"""

from __future__ import annotations

import re
from typing import Final

from exploracoder_jupyter.core.types import Call
from exploracoder_jupyter.pipeline.ports import Tool
from exploracoder_jupyter.repository.tools.repository_tools import Finding, RepositoryTools, render_findings

RELATED_SNIPPETS: Final = "get_related_snippets"
RELEVANT_CODE: Final = "get_relevant_code"
IMPORTS: Final = "get_imports"
DEPENDENT: Final = (
    Tool("get_imports", "import statements for every undefined name of your latest code, all sources of each", "", ""),
    Tool(
        "get_class_info",
        "members of classes of the repository with inherited ones: parameters, types, static, abstract",
        "classes",
        "class names, separated by commas",
    ),
    Tool("get_signature", "all signatures of a method or function", "name", "Class.method, or the name of a function"),
    Tool("get_method_body", "source code of a method or function", "name", "Class.method, or the name of a function"),
    Tool("get_relevant_code", "classes, functions and snippets near to a description", "query", "what you look for"),
)
"""The dependent tools of RRR (appendix F.2); the first needs no argument."""
NAMES: Final = (RELATED_SNIPPETS, *(tool.name for tool in DEPENDENT))
_MOST_CALLS: Final = 8
"""Calls of one reply that are answered."""
_LONGEST_ARGUMENT: Final = 400

_CALL: Final = re.compile(
    rf"^[ \t]*(?:[-*>]|\d+[.)])?[ \t]*[`*]*(?:(?:Tool|Action|Call)[ \t]*\d*[ \t]*:)?[ \t`*]*"
    rf"(?P<name>{'|'.join(tool.name for tool in DEPENDENT)})[`*]*[ \t]*[:(]?(?P<argument>[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_KEYWORD: Final = re.compile(r"\b[a-z_]+[ \t]*=[ \t]*(?=[\"'\w])")
_QUERY: Final = re.compile(r"^query[ \t]*[=:][ \t]*")
_AROUND: Final = " \t\"'`*()[].;"


def parse_tool_request(text: str) -> tuple[str, tuple[Call, ...]]:
    """Return the text of a reply before its first call, and its calls, each once. A reply may contain none."""
    found = list(_CALL.finditer(text))
    calls: dict[Call, None] = {}
    for match in found:
        name = match["name"].lower()
        argument = _query(match["argument"]) if name == RELEVANT_CODE else _names(match["argument"])
        if argument or name == IMPORTS:
            calls[Call(name, argument[:_LONGEST_ARGUMENT])] = None
    thought = text[: found[0].start()] if found else text
    return thought.strip().removeprefix("Thought:").strip(), tuple(calls)[:_MOST_CALLS]


def _names(argument: str) -> str:
    """Return names separated by commas, without the brackets, quotes and keywords around them."""
    parts = (part.strip(_AROUND) for part in _KEYWORD.sub("", argument).split(","))
    return ", ".join(filter(None, parts))


def _query(argument: str) -> str:
    """Return free text, which may be code, without what a call puts around it."""
    text = argument.strip(" \t`*")
    if text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].strip()
    text = _QUERY.sub("", text)
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return (text[1:-1] if quoted else text).strip()


def find(tools: RepositoryTools, call: Call, *, path: str = "", thought: str = "") -> list[Finding]:
    """Return what one of the six tools finds; `path` is the file with the latest code, `thought` why it is called."""
    owner, name = _split_name(call.argument)
    match call.tool:
        case "get_related_snippets":
            return tools.get_related_snippets(call.argument)
        case "get_imports":
            return tools.get_imports(path or call.argument)
        case "get_class_info":
            return tools.get_class_info(call.argument, thought)
        case "get_signature":
            return tools.get_signature(owner, name)
        case "get_method_body":
            return tools.get_method_body(owner, name)
        case _:
            return tools.get_relevant_code(call.argument)


def answer(tools: RepositoryTools, call: Call, *, path: str, thought: str) -> str:
    """Return what a tool finds as text for a model, which states it if that is nothing; see `find`."""
    found = find(tools, call, path=path, thought=thought)
    if found:
        return render_findings(found)
    if call.tool == "get_imports":
        return "Every name is defined."
    return f"Nothing was found. {tools.similar_names(call.argument)}".strip()


def called_as(call: Call) -> str:
    """Return a call as a model writes it."""
    return f"{call.tool}: {call.argument}" if call.argument else call.tool


def _split_name(argument: str) -> tuple[str | None, str]:
    """Return class and method of `Cart.total`, of `Cart, total`, or of `None, total`."""
    parts = [part for part in re.split(r"[,\s.:#]+", argument) if part]
    owner = ".".join(parts[:-1])
    return (None if owner in ("", "None", "null") else owner), parts[-1] if parts else ""
