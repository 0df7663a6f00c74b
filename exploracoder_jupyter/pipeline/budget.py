"""The budget of a run: tokens, seconds and executions, charged and checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from time import monotonic

import anyio

from exploracoder_jupyter.core.configuration.settings import Budget
from exploracoder_jupyter.core.errors import BudgetExceeded
from exploracoder_jupyter.core.message_wording import plural
from exploracoder_jupyter.core.types import Usage


class Meter:
    """Adds up the usage of a run per step, and enforces the budget."""

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = monotonic) -> None:
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._numbers = count(1)
        self._scope: anyio.CancelScope | None = None
        self.by_step: dict[str, Usage] = {}

    def next_number(self) -> int:
        """Return the next free number for an exchange with the model."""
        return next(self._numbers)

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
        """Tokens left in the budget."""
        return max(self._budget.tokens - sum(usage.tokens for usage in self.by_step.values()), 0)

    @property
    def total(self) -> Usage:
        """Total usage; `seconds` is the wall-clock time of the run."""
        summed = sum(self.by_step.values(), Usage())
        return Usage(
            summed.calls, summed.prompt_tokens, summed.completion_tokens, round(self.elapsed, 3), summed.executions
        )

    def out_of_time(self) -> BudgetExceeded:
        """Return the error for a run whose time budget is spent."""
        spent = f"The budget of {plural(self._budget.seconds, 'second')} is spent."
        return BudgetExceeded(spent, remedy="Raise --budget-seconds.")

    def reserve(self) -> None:
        """Count one execution before it starts, so that concurrent executions keep to the budget.

        Raises:
            BudgetSpent: the budget is exhausted.
        """
        self.check()
        self.charge("execute", Usage(executions=1))

    def check(self, *, executions: int = 1) -> None:
        """Raise BudgetSpent if the budget is exhausted, or does not allow that many executions."""
        spent = self.total
        if spent.tokens >= self._budget.tokens:
            raise BudgetExceeded(
                f"The budget of {plural(self._budget.tokens, 'token')} is spent.", remedy="Raise --budget-tokens."
            )
        if spent.seconds >= self._budget.seconds:
            raise self.out_of_time()
        if spent.executions + executions > self._budget.executions:
            raise BudgetExceeded(
                f"The budget of {plural(self._budget.executions, 'execution')} is spent.",
                remedy="Raise budget.executions in the config file.",
            )
