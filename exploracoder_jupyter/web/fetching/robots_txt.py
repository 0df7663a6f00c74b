"""Parses robots.txt (RFC 9309): the group for our user agent or for all, the longest rule, `*` and `$`.

The standard library's parser supports no wildcards and uses the first rule, not the longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

AGENT = "exploracoder-jupyter"
"""Our user agent name."""
_MAX_RULES = 2000


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules that apply to us: what each allows or forbids."""

    rules: tuple[tuple[str, bool], ...] = ()
    """Path patterns, with True for allowed ones."""

    def allows(self, path: str) -> bool:
        """Return whether this path, with its query, may be fetched."""
        path = unquote(path)
        matching = [(len(pattern), allowed) for pattern, allowed in self.rules if _matches(pattern, path)]
        return max(matching, default=(0, True))[1]


DISALLOW_ALL = RobotsRules((("/", False),))
"""Used when a site's rules cannot be fetched: nothing is allowed."""


def parse_robots(text: str) -> RobotsRules:
    """Return the rules of a robots.txt for our user agent, or else those for all."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    agents: list[str] = []
    in_rules = False
    for line in text.lstrip("\ufeff").splitlines():
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        if key.lower() == "user-agent":
            agents = [value.lower()] if in_rules else [*agents, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif key.lower() in ("allow", "disallow"):
            in_rules = True
            for agent in agents if value else ():
                groups[agent].append((unquote(value), key.lower() == "allow"))
    return RobotsRules(tuple(groups.get(AGENT, groups.get("*", []))[:_MAX_RULES]))


def _matches(pattern: str, path: str) -> bool:
    """Return whether the path starts with the pattern. Each piece between stars is searched only once."""
    ends = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, piece in enumerate(rest, 1):
        last = ends and number == len(rest)
        found = len(path) - len(piece) if last and path.endswith(piece) else -1 if last else path.find(piece, at)
        if found < at:
            return False
        at = found + len(piece)
    return not ends or bool(rest) or at == len(path)
