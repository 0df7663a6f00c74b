"""Which names a `.gitignore` leaves out: enough of its language for the usual files of projects.

Comments, `!`, a leading or inner `/`, a trailing `/`, `*`, `?`, `[...]` and `**` mean what they mean to git.
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
    """Where the file is, relative to the searched folder, with a `/` at its end; empty for the searched folder."""
    pattern: re.Pattern[str]
    folders_only: bool
    included: bool
    """Whether it takes back what an earlier line left out."""


def rules(text: str, folder: str) -> list[Rule]:
    """The rules of the `.gitignore` of a folder."""
    lines = (line.strip() for line in text.splitlines())
    made = (_rule(line, folder) for line in lines if line.strip("!/") and not line.startswith("#"))
    return [rule for rule in made if rule]


def is_ignored(path: str, *, is_folder: bool, rules: Sequence[Rule]) -> bool:
    """Whether a path, relative to the searched folder, is left out: the last rule that speaks of it decides."""
    ignored = False
    for rule in rules:
        speaks = (is_folder or not rule.folders_only) and path.startswith(rule.folder)
        if speaks and rule.pattern.match(path[len(rule.folder) :]):
            ignored = not rule.included
    return ignored


def _rule(line: str, folder: str) -> Rule | None:
    """The rule of a line; none where its pattern cannot be understood."""
    included, line = line.startswith("!"), line.removeprefix("!")
    body = line.rstrip("/")
    anchored = "/" in body
    parts = ["(?:.*/)?" if part == "**" else _part(part) for part in body.lstrip("/").split("/")]
    whole = "".join(part if part.endswith(")?") else f"{part}/" for part in parts).removesuffix("/")
    try:
        pattern = re.compile(f"{'' if anchored else '(?:.*/)?'}{whole}\\Z")
    except re.error:
        return None
    return Rule(folder, pattern, line.endswith("/"), included)


def _part(pattern: str) -> str:
    """One component: `*` does not cross a `/`."""
    inner = translate(pattern).removeprefix("(?s:")[: -len(")\\Z")]  # `)\z` from Python 3.14 on
    return inner.replace(".*", "[^/]*")
