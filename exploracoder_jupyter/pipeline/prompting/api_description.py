"""Describes an API in a prompt: the whole documentation if it is short, else its most important parts.

A long docstring is mostly prose around its parameters. Truncating it in the middle would lose exactly those; so the
purpose comes first, then the parameters in brief, the return value, and one example if there is room.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten, shorten_example
from exploracoder_jupyter.text.markup_escaping import fenced

_SECTION = re.compile(
    r"^[ \t]*(?:parameters|args|arguments|returns?|yields?|raises|examples?)[ \t]*:?[ \t]*$|^[ \t]*:\w+[ :]",
    re.I | re.M,
)
"""Where the opening of a docstring ends."""
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_LONGEST_SIGNATURE: Final = 120
_LONGEST_SUMMARY: Final = 140
_LONGEST_PARAMETER: Final = 400
_LONGEST_BRIEF: Final = 130
_LONGEST_RETURNS: Final = 200
_LONGEST_MEMBERS: Final = 300


@heuristic("describing an API", lambda api: f"- {api.path}")
def summary_line(api: ApiDoc) -> str:
    """Return path, signature and first sentence on one line."""
    return f"- {api.path}{truncate(api.signature, _LONGEST_SIGNATURE)}: {truncate(api.summary, _LONGEST_SUMMARY)}"


def members_line(api: ApiDoc, listed: Collection[str] = ()) -> str:
    """Return the members of a class, or the values of an enum, on one line; empty if all are `listed` anyway.

    `listed`: paths of APIs that the same prompt has.
    """
    names = [name for name in api.members if f"{api.path}.{name}" not in listed]
    if api.kind != "class" or not names:
        return ""
    shown = truncate(", ".join(names), _LONGEST_MEMBERS)
    return f"  Members: {shown}" + (f" ({len(names)} in all)" if shown.endswith(" ...") else "")


@heuristic("describing an API", lambda api, most: f"### {api.path}")
def describe_in_full(api: ApiDoc, most: int) -> str:
    """Describe the API with about `most` characters of its documentation."""
    warning = f"\nDeprecated: {api.deprecated}" if api.deprecated else ""
    return f"### {api.path}{shorten(api.signature, 400)}{warning}\n{_documentation(api, most)}"


def truncate(text: str, most: int) -> str:
    """Return the text on one line, truncated with dots."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rstrip()} ..."


def strip_whitespace(text: str) -> str:
    """Remove all whitespace, so that texts can be compared regardless of layout."""
    return "".join(text.split())


def _documentation(api: ApiDoc, most: int) -> str:
    if len(api.description) <= most:
        return "\n".join([api.description, *_example(api, most - len(api.description), api.description)])
    if not api.parameters:
        return shorten(api.description, most)
    parts = [_opening(api.description, most // 3)]
    parts += _parameters(api.parameters, most * 2 // 3 - len(parts[0]) // 2)
    parts += [f"Returns: {truncate(api.returns, _LONGEST_RETURNS)}"] if api.returns else []
    parts += _example(api, most - sum(map(len, parts)))
    return "\n".join([*parts, f"(shortened: {len(api.description)} characters in all)"])


def _opening(description: str, most: int) -> str:
    """Return the text before the first section: the first sentence, and as many more as fit."""
    found = _SECTION.search(description)
    text = " ".join(description[: found.start() if found else None].split())
    kept, *rest = _SENTENCE.split(text)
    for sentence in rest:
        if len(kept) + len(sentence) >= most:
            break
        kept = f"{kept} {sentence}"
    return shorten(kept, most)


def _parameters(parameters: tuple[Parameter, ...], room: int) -> Iterator[str]:
    """Yield a line for each parameter, in full if all fit, else in brief; those that do not fit are only named."""
    lines = [_line(one, truncate(one.about, _LONGEST_PARAMETER)) for one in parameters]
    if sum(map(len, lines)) > room:
        sentences = [_SENTENCE.split(" ".join(one.about.split()), maxsplit=1)[0] for one in parameters]
        lines = [_line(one, truncate(text, _LONGEST_BRIEF)) for one, text in zip(parameters, sentences, strict=True)]
    yield "Parameters:"
    for index, line in enumerate(lines):
        if len(line) > room:
            names = ", ".join(other.name for other in parameters[index:])
            yield f"- and {shorten(names, _LONGEST_BRIEF)}"
            return
        room -= len(line)
        yield line


def _line(parameter: Parameter, about: str) -> str:
    kind = f" ({parameter.type})" if parameter.type else ""
    return f"- {parameter.name}{kind}: {about}".removesuffix(": ")


def _example(api: ApiDoc, room: int, above: str = "") -> Iterator[str]:
    """Yield the first example that fits, up to its call of the API, and none that the text above contains."""
    known = {strip_whitespace(line.strip().removeprefix(">>>").removeprefix("...")) for line in above.splitlines()}
    fresh = (code for code in api.examples if not {*map(strip_whitespace, code.splitlines())} <= {*known, ""})
    shown = filter(None, (shorten_example(code, api.name, room) for code in fresh))
    yield from (fenced(code, "python") for code in islice(shown, 1))
