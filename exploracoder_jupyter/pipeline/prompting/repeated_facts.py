"""Removes from the summaries of values what a prompt already states: what was printed, and the members of a type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.types import Change, Experience
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic

_MEMBERS: Final = re.compile(r"^  (?:properties|methods): .*\n?", re.MULTILINE)
"""Facts about the type of a value, written by `kernel_agent.summaries.objects.python_objects`."""
_PUNCTUATION: Final = re.compile(r"[\s|,:='\"()\[\]{}]+")
_ZERO_FRACTION: Final = re.compile(r"(?<=\d)\.0+(?!\d)")
_LABEL: Final = re.compile(r"^[^\n:=]{1,60}[:=]\s*")
_LEAST_WORDS: Final = 2
_LEAST_CHARACTERS: Final = 4
"""A line of fewer words and characters may be printed by coincidence."""


@heuristic("shortening results", lambda experience: list(experience))
def drop_repeated_members(experience: Iterable[Experience]) -> list[Experience]:
    """Return the experiences, with the properties and methods of each type only at the first value of that type."""
    known: set[str] = set()
    kept: list[Experience] = []
    for item in experience:
        changes = []
        for change in item.observation.changes if item.observation.ran else ():
            plain = replace(change, summary=_MEMBERS.sub("", change.summary).rstrip())
            changes.append(plain if change.type in known else change)
            if _MEMBERS.search(change.summary):
                known.add(change.type)
        kept.append(replace(item, observation=replace(item.observation, changes=tuple(changes))) if changes else item)
    return kept


@heuristic("shortening results", lambda change, shown: change.summary)
def drop_shown_facts(change: Change, shown: str) -> str:
    """Return the summary of a value without the facts that the shown output states too."""
    lines = change.summary.strip().splitlines()
    # A line that another one continues is dropped: the type of a column, where its values follow.
    summary = "\n".join(line for line in lines if not any(other.startswith(f"{line}, ") for other in lines))
    if not shown.strip() or not summary:
        return summary
    literal = summary.removeprefix(change.type).removeprefix(": ").strip().strip("'\"")
    outputs = [line.strip() for line in shown.splitlines()]
    if summary in shown or (literal and any(literal in (line, _LABEL.sub("", line)) for line in outputs)):
        return f"{change.type}, as shown above"
    head, *facts = summary.splitlines()
    printed, kept = f" {_words(shown)} ", []
    for line in facts:
        words = _words(line)
        enough = len(words.split()) >= _LEAST_WORDS or len(words) >= _LEAST_CHARACTERS
        if not (enough and f" {words} " in printed):
            kept.append(line)
    fresh = [*_without_empty_headings(kept)]
    return "\n".join([head if len(fresh) == len(facts) else f"{head}, as shown above", *fresh])


def _words(text: str) -> str:
    return _ZERO_FRACTION.sub("", _PUNCTUATION.sub(" ", text)).strip().casefold()


def _without_empty_headings(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines except for headings under which nothing is left."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    for line, indent, following in zip(lines, indents, [*indents[1:], 0], strict=False):
        if not line.rstrip().endswith(":") or following > indent:
            yield line
