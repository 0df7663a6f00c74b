from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from skerries._errors import BadQuery

Facts = Mapping[str, Any]
Tests = Callable[[Facts], bool]

_TEST = re.compile(
    r"\s*(?:(?P<no>no\s+)?(?P<only>\w+)|(?P<fact>\w+)\s*(?P<sign><=|>=|=|<|>|~)\s*(?P<value>[^;{}]+?))\s*"
)
_STEP = re.compile(
    r"\s*(?P<arrow>->|<-|--)?\s*(?:\{(?P<along>[^}]*)\})?\s*(?P<far>\+)?\s*"
    r"(?P<glob>[\w*?.+-]*[\w*?])\s*(?:\{(?P<tests>[^}]*)\})?\s*(?P<mark>!)?\s*"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "~": lambda a, b: fnmatchcase(str(a), str(b)),
}


@dataclass(frozen=True)
class Step:
    """One port of a query, and the arrow before it."""

    arrow: Literal["", "->", "<-", "--"]
    along: Tests
    far: bool
    glob: str
    tests: Tests
    marked: bool


def read_tests(source: str) -> Tests:
    tests = [_test(part) for part in source.split(";") if part.strip()]
    return lambda facts: all(test(facts) for test in tests)


def read_query(source: str) -> list[Step]:
    steps: list[Step] = []
    position = 0
    while position < len(source):
        match = _STEP.match(source, position)
        if match is None or bool(match["arrow"]) != bool(steps):
            raise BadQuery(f"Cannot read {source[position:]!r} in {source!r}. See the page on queries.")
        steps.append(_step(match))
        position = match.end()
    if not steps:
        raise BadQuery("The query is empty.")
    return steps


def _step(match: re.Match[str]) -> Step:
    arrow: Any = match["arrow"] or ""
    return Step(
        arrow,
        read_tests(match["along"] or ""),
        bool(match["far"]),
        match["glob"],
        read_tests(match["tests"] or ""),
        bool(match["mark"]),
    )


def _test(part: str) -> Tests:
    match = _TEST.fullmatch(part)
    if match is None:
        raise BadQuery(f"Cannot read the test {part.strip()!r}. See the page on queries.")
    if match["only"]:
        wanted = match["no"] is None
        return lambda facts: (match["only"] in facts) == wanted
    fact, compare, value = match["fact"], _COMPARE[match["sign"]], _value(match["value"])
    return lambda facts: fact in facts and _comparable(facts[fact], value) and compare(facts[fact], value)


def _comparable(a: Any, b: Any) -> bool:
    return isinstance(a, str) == isinstance(b, str) or isinstance(b, str)


def _value(text: str) -> Any:
    words = {"true": True, "false": False}
    if text in words:
        return words[text]
    try:
        return float(text)
    except ValueError:
        return text
