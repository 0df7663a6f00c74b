"""Matches paths against `.gitignore` files: enough of the language for typical projects.

Comments, `!`, a leading or inner `/`, a trailing `/`, `*`, `?`, `[...]` and `**` have the same meaning as in git.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a `.gitignore`."""

    folder: str
    """The file's folder relative to the searched folder, with a trailing `/`; empty for the searched folder itself."""
    pattern: re.Pattern[str]
    folders_only: bool
    is_negated: bool
    """Whether it re-includes what an earlier line excluded."""


def parse_gitignore(text: str, folder: str) -> list[Rule]:
    """Parse the rules of a folder's `.gitignore`."""
    lines = (line.strip() for line in text.splitlines())
    parsed = (_parse_rule(line, folder) for line in lines if line.strip("!/") and not line.startswith("#"))
    return [rule for rule in parsed if rule]


def is_ignored(path: str, *, is_folder: bool, rules: Sequence[Rule]) -> bool:
    """Return whether a path, relative to the searched folder, is ignored; the last matching rule decides."""
    ignored = False
    for rule in rules:
        applies = (is_folder or not rule.folders_only) and path.startswith(rule.folder)
        if applies and rule.pattern.match(path[len(rule.folder) :]):
            ignored = not rule.is_negated
    return ignored


def _parse_rule(line: str, folder: str) -> Rule | None:
    """Parse one line; None if its pattern is invalid."""
    is_negated, line = line.startswith("!"), line.removeprefix("!")
    body = line.rstrip("/")
    anchored = "/" in body
    parts = ["(?:.*/)?" if part == "**" else _translate_component(part) for part in body.lstrip("/").split("/")]
    whole = "".join(part if part.endswith(")?") else f"{part}/" for part in parts).removesuffix("/")
    try:
        pattern = re.compile(f"{'' if anchored else '(?:.*/)?'}{whole}\\Z")
    except re.error:
        return None
    return Rule(folder, pattern, line.endswith("/"), is_negated)


def _translate_component(pattern: str) -> str:
    """Translate one path component: `*` does not match a `/`."""
    inner = translate(pattern).removeprefix("(?s:")[: -len(")\\Z")]  # `)\z` since Python 3.14
    return inner.replace(".*", "[^/]*")
