from __future__ import annotations

import operator
import re
import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from osterly._entries import Entry
from osterly._errors import BadQuery

Test = Callable[[Entry], bool]

_AMOUNT = re.compile(r"(?P<name>\w+)(?P<sign><=|>=|<|>|=)(?P<number>\d+(?:\.\d+)?)(?P<unit>eur|m|h|d)?")
_FACTORS = {None: 1, "eur": 100, "m": 1, "h": 60, "d": 24 * 60}
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


def read_query(query: str, now: int) -> Test:
    try:
        words = shlex.split(query)
    except ValueError as error:
        raise BadQuery(f"Cannot read the query {query!r}: {error}.") from None
    tests = [_test(word, now) for word in words]
    if not any(word.lstrip("-").startswith("state:") for word in words):
        tests.append(lambda entry: entry.state == "live")
    return lambda entry: all(test(entry) for test in tests)


def _test(word: str, now: int) -> Test:
    if word.startswith("-"):
        test = _test(word[1:], now)
        return lambda entry: not test(entry)
    alternatives = word.split("|")
    if len(alternatives) > 1:
        head = word.partition(":")[0] + ":" if ":" in alternatives[0] else ""
        tests = [_test(each if n == 0 else head + each, now) for n, each in enumerate(alternatives)]
        return lambda entry: any(test(entry) for test in tests)
    return _simple(word, now)


def _simple(word: str, now: int) -> Test:
    amount = _AMOUNT.fullmatch(word)
    if amount is not None:
        return _compared(amount, now)
    kind, colon, pattern = word.partition(":")
    if not colon:
        return lambda entry: word.casefold() in entry.title.casefold().split()
    if kind == "tag":
        return lambda entry: any(fnmatchcase(tag, pattern) for tag in entry.tags)
    if kind == "title":
        return lambda entry: fnmatchcase(entry.title.casefold(), pattern.casefold())
    if kind == "state":
        return lambda entry: pattern in ("any", entry.state)
    if kind == "has":
        return lambda entry: pattern in entry.fields
    return lambda entry: kind in entry.fields and fnmatchcase(str(entry.fields[kind]), pattern)


def _compared(amount: re.Match[str], now: int) -> Test:
    name, compare = amount["name"], _SIGNS[amount["sign"]]
    bound = float(amount["number"]) * _FACTORS[amount["unit"]]

    def test(entry: Entry) -> bool:
        value = now - entry.created if name == "age" else entry.fields.get(name)
        return isinstance(value, int | float) and compare(value, bound)

    return test
