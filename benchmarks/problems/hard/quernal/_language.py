from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from quernal._errors import BadCondition
from quernal._gap import GAP
from quernal._units import common, converted, known

Row = dict[str, Any]
Units = dict[str, str | None]


class Quantity(NamedTuple):
    value: Any
    unit: str | None


Term = Callable[[Row], Quantity]
Test = Callable[[Row], Any]  # True, False or GAP

_TOKEN = re.compile(
    r"\s*(?:(?P<column>\[[^\]]+\])|(?P<text>'[^']*')|(?P<number>\d+(?:\.(?!\.)\d+)?)(?P<unit>[a-z]+)?"
    r"|(?P<sign>\.\.|==|!=|<=|>=|[=<>()+\-*/|])|(?P<word>[^\W\d][\w-]*))"
)


def tokens_of(source: str) -> list[tuple[str, str]]:
    tokens, position, end = [], 0, len(source.rstrip())
    while position < end:
        match = _TOKEN.match(source, position)
        if match is None:
            raise BadCondition(f"Cannot read {source[position:]!r} in {source!r}. See the page on conditions.")
        kind = "number" if match["number"] else str(match.lastgroup)
        tokens.append((kind, match[0].strip()))
        position = match.end()
    return tokens


class Reader:
    """Reads one condition or formula."""

    def __init__(self, source: str, units: Units) -> None:
        self._source = source
        self._tokens: Iterator[tuple[str, str]] = iter([*tokens_of(source), ("end", "")])
        self._kind, self._token = next(self._tokens)
        self._units = units

    def condition(self) -> Test:
        test = self._any()
        self._expect("end")
        return test

    def formula(self) -> Term:
        term = self._sum()
        self._expect("end")
        return term

    def _advance(self) -> str:
        token = self._token
        if self._kind != "end":
            self._kind, self._token = next(self._tokens)
        return token

    def _take(self, *wanted: str) -> str | None:
        return self._advance() if self._token in wanted and self._kind in ("sign", "word") else None

    def _expect(self, wanted: str) -> str:
        if wanted not in (self._kind, self._token):
            raise BadCondition(
                f"Expected {wanted} before {self._token!r} in {self._source!r}. See the page on conditions."
            )
        return self._advance()

    def _any(self) -> Test:
        left = self._clause()
        while word := self._take("and", "or"):
            left = _both(left, self._clause()) if word == "and" else _either(left, self._clause())
        return left

    def _clause(self) -> Test:
        if self._take("not"):
            return _opposite(self._clause())
        if self._take("("):
            test = self._any()
            self._expect(")")
            return test
        return self._comparison(self._column())

    def _column(self) -> str:
        name = self._advance().strip("[]")
        if name not in self._units:
            raise BadCondition(f"A comparison begins with a strip, and {name!r} is none ({self._source!r}).")
        return name

    def _comparison(self, name: str) -> Test:
        if self._take("is"):
            wanted = self._take("not") is None
            self._expect("gap")
            return lambda row: (row[name] is GAP) == wanted
        if self._take("in"):
            return self._range(name)
        if self._take("like"):
            pattern = self._expect("text").strip("'")
            return lambda row: GAP if row[name] is GAP else fnmatch.fnmatchcase(str(row[name]), pattern)
        sign = self._take("=", "==", "!=", "<", "<=", ">", ">=")
        if sign is None:
            raise BadCondition(f"Expected a comparison before {self._token!r} in {self._source!r}.")
        choices = [self._value(name)]
        while self._take("|"):
            choices.append(self._value(name))
        return _compared(name, sign, choices)

    def _range(self, name: str) -> Test:
        low = self._value(name)
        self._expect("..")
        high = self._value(name)

        def test(row: Row) -> Any:
            value, first, last = row[name], low(row).value, high(row).value
            return GAP if GAP in (value, first, last) else first <= value < last

        return test

    def _value(self, name: str) -> Term:
        """A value in the unit of the strip that it is compared with."""
        term, unit = self._atom(), self._units[name]

        def value(row: Row) -> Quantity:
            got = term(row)
            if got.unit is None or got.value is GAP or unit is None or got.unit == unit:
                return got
            return Quantity(converted(got.value, got.unit, unit), unit)

        return value

    def _sum(self) -> Term:
        left = self._product()
        while sign := self._take("+", "-"):
            left = _added(left, self._product(), 1 if sign == "+" else -1)
        return left

    def _product(self) -> Term:
        left = self._factor()
        while sign := self._take("*", "/"):
            left = _multiplied(left, self._factor(), sign)
        return left

    def _factor(self) -> Term:
        if self._take("("):
            term = self._sum()
            self._expect(")")
            return term
        return self._atom()

    def _atom(self) -> Term:
        kind, token = self._kind, self._advance()
        if kind == "column":
            return self._column_value(token.strip("[]"))
        if kind == "number":
            return _constant(_number(token))
        if kind in ("text", "word"):
            return _constant(Quantity(token.strip("'"), None))
        raise BadCondition(f"Expected a value before {token!r} in {self._source!r}.")

    def _column_value(self, name: str) -> Term:
        if name not in self._units:
            raise BadCondition(f"There is no strip {name!r} ({self._source!r}).")
        unit = self._units[name]
        return lambda row: Quantity(row[name], unit)


def _constant(quantity: Quantity) -> Term:
    return lambda row: quantity


def _number(token: str) -> Quantity:
    digits, unit = re.fullmatch(r"([\d.]+)([a-z]*)", token).groups()  # type: ignore[union-attr]
    if unit and not known(unit):
        raise BadCondition(f"{unit!r} is not a unit.")
    return Quantity(float(digits) if "." in digits else int(digits), unit or None)


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _compared(name: str, sign: str, choices: list[Term]) -> Test:
    compare: Callable[[Any, Any], bool] = {
        "=": lambda a, b: _folded(a) == _folded(b),
        "==": lambda a, b: a == b,
        "!=": lambda a, b: _folded(a) != _folded(b),
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }[sign]
    some = all if sign == "!=" else any

    def test(row: Row) -> Any:
        value, others = row[name], [choice(row).value for choice in choices]
        return GAP if GAP in (value, *others) else some(compare(value, other) for other in others)

    return test


def _both(left: Test, right: Test) -> Test:
    def test(row: Row) -> Any:
        answers = (left(row), right(row))
        return False if False in answers else GAP if GAP in answers else True

    return test


def _either(left: Test, right: Test) -> Test:
    def test(row: Row) -> Any:
        answers = (left(row), right(row))
        return True if True in answers else GAP if GAP in answers else False

    return test


def _opposite(inner: Test) -> Test:
    def test(row: Row) -> Any:
        answer = inner(row)
        return GAP if answer is GAP else not answer

    return test


def _added(left: Term, right: Term, sign: int) -> Term:
    def term(row: Row) -> Quantity:
        a, b = left(row), right(row)
        unit = common(a.unit, b.unit)
        return Quantity(GAP if GAP in (a.value, b.value) else a.value + sign * b.value, unit)

    return term


def _multiplied(left: Term, right: Term, sign: str) -> Term:
    def term(row: Row) -> Quantity:
        a, b = left(row), right(row)
        unit = a.unit if b.unit is None else b.unit if a.unit is None and sign == "*" else None
        if GAP in (a.value, b.value) or (sign == "/" and b.value == 0):
            return Quantity(GAP, unit)
        return Quantity(a.value * b.value if sign == "*" else a.value / b.value, unit)

    return term
