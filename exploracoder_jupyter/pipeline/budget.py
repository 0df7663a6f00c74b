"""The budget of a run: tokens, money, seconds and executions, charged and checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from math import inf
from time import monotonic
from typing import Final

import anyio

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Budget, Price, Prices
from exploracoder_jupyter.core.errors import BudgetExceeded, UsageError
from exploracoder_jupyter.core.events import Estimated
from exploracoder_jupyter.core.messages import money, plural
from exploracoder_jupyter.core.types import Usage

_SHARE_OF_REPLIES: Final = 0.11
"""Completion tokens of all tokens; measured over the five recorded runs in `examples`: from 0.06 to 0.12."""


class Meter:
    """Adds up the usage of a run per step, and enforces the budget."""

    def __init__(self, budget: Budget, prices: Prices | None = None, *, clock: Callable[[], float] = monotonic) -> None:
        self._budget = budget
        self._prices = prices or Prices()
        self._price: Price | None = None
        self._clock = clock
        self._started = clock()
        self._numbers = count(1)
        self._scope: anyio.CancelScope | None = None
        self.by_step: dict[str, Usage] = {}

    def next_number(self) -> int:
        """Return the next free number for an exchange with the model."""
        return next(self._numbers)

    def use_model(self, name: str, *, required: bool = True) -> None:
        """From now on, price tokens by this model; without a price they have no cost.

        With `required`, a budget in money requires a price (UsageError); a replay costs nothing.
        """
        self._price = self._prices.models.get(name)
        if required and self._budget.cost and self._price is None and name != OFFLINE:
            raise UsageError(
                f"The budget in money (--budget-cost) needs a price, and the model {name!r} has none.",
                remedy=f'Add [prices.models."{name}"] with `input` and `output` to the config file.',
            )

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its cost, if the model has a price."""
        if self._price is None:
            return usage
        cost = self._price.cost(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        return replace(usage, cost=cost, currency=self._prices.currency)

    def estimate(self, calls: int, tokens: int, *, at_most: bool) -> Estimated:
        """Return the expected cost of so many requests and tokens."""
        replies = round(tokens * _SHARE_OF_REPLIES)
        usage = self.priced(Usage(prompt_tokens=tokens - replies, completion_tokens=replies))
        return Estimated(calls, tokens, at_most, usage.cost, usage.currency)

    def charge(self, step: str, usage: Usage) -> None:
        """Add the usage of a step."""
        self.by_step[step] = self.by_step.get(step, Usage()) + usage

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time within this context: the run waits for the user."""
        began = self._clock()
        if self._scope:
            self._scope.deadline = inf
        try:
            yield
        finally:
            self._started += self._clock() - began
            self._set_deadline()

    @contextmanager
    def limiting(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Cancel the scope when the time budget is spent."""
        self._scope = scope
        self._set_deadline()
        try:
            yield
        finally:
            self._scope = None

    def _set_deadline(self) -> None:
        if self._scope:
            self._scope.deadline = anyio.current_time() + self.seconds_left

    @property
    def elapsed(self) -> float:
        """Seconds since the run began, without the time spent waiting for the user."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds left in the budget."""
        return max(self._budget.seconds - self.elapsed, 0.0)

    @property
    def tokens_left(self) -> int:
        """Tokens left in the budget, and in that of money at the model's highest price."""
        spent = sum(self.by_step.values(), Usage())
        left = self._budget.tokens - spent.tokens
        if self._budget.cost and self._price and (most := max(self._price.input, self._price.output)):
            left = min(left, int((self._budget.cost - (spent.cost or 0.0)) / most * 1e6))
        return max(left, 0)

    @property
    def total(self) -> Usage:
        """Total usage; `seconds` is the wall-clock time of the run."""
        summed = sum(self.by_step.values(), Usage())
        return replace(summed, seconds=round(self.elapsed, 3))

    def out_of_time(self) -> BudgetExceeded:
        """Return the error for a run whose time budget is spent."""
        return _spent(plural(self._budget.seconds, "second"), "--budget-seconds")

    def reserve(self) -> None:
        """Count one execution before it starts, so that concurrent executions keep to the budget (BudgetExceeded)."""
        self.check()
        self.charge("execute", Usage(executions=1))

    def check(self, *, executions: int = 1) -> None:
        """Raise BudgetExceeded if the budget is exhausted, or does not allow that many executions."""
        spent = self.total
        if spent.tokens >= self._budget.tokens:
            raise _spent(plural(self._budget.tokens, "token"), "--budget-tokens")
        if self._budget.cost and (spent.cost or 0.0) >= self._budget.cost:
            raise _spent(money(self._budget.cost, self._prices.currency), "--budget-cost")
        if spent.seconds >= self._budget.seconds:
            raise self.out_of_time()
        if spent.executions + executions > self._budget.executions:
            raise _spent(plural(self._budget.executions, "execution"), "budget.executions in the config file")


def _spent(limit: str, option: str) -> BudgetExceeded:
    return BudgetExceeded(f"The budget of {limit} is spent.", remedy=f"Raise {option}.")
