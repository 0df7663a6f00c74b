"""How far an evaluation is, and an estimate of what is left. Pure."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.scheduling.unit_queue import is_final


class Progress:
    """Counts the results of an evaluation."""

    def __init__(
        self, units: dict[str, int], known: Iterable[UnitResult] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`units` has the number of units of each strategy, `known` the results from before it was resumed: they say
        how many tokens a unit takes, but not how long.
        """
        self._units = units
        self._done: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._clock = clock
        self._began = clock()
        self._here = 0
        self.solved = self.failed = 0
        self.cost: float | None = 0.0
        """In money; `None` if that of any unit is unknown."""
        for result in known:
            if is_final(result):
                self._count(result)

    def add(self, result: UnitResult) -> None:
        """Count the result of a unit that has just ended."""
        self._here += 1
        self._count(result)

    @property
    def total(self) -> int:
        """Number of units of the evaluation."""
        return sum(self._units.values())

    @property
    def done(self) -> int:
        """Number of units that have a result."""
        return self.solved + self.failed

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far."""
        return self._tokens.total()

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the end, at the pace so far; `None` before the first result."""
        left = self.total - self.done
        return left * (self._clock() - self._began) / self._here if self._here else None

    @property
    def tokens_left(self) -> int | None:
        """Estimated tokens until the end, by the mean of each strategy; `None` while a strategy has no result."""
        left = {name: units - self._done[name] for name, units in self._units.items() if units > self._done[name]}
        if any(not self._done[name] for name in left):
            return None
        return round(sum(units * self._tokens[name] / self._done[name] for name, units in left.items()))

    def _count(self, result: UnitResult) -> None:
        self._done[result.strategy] += 1
        self._tokens[result.strategy] += result.prompt_tokens + result.completion_tokens
        self.solved += result.passed
        self.failed += not result.passed
        self.cost = None if self.cost is None or result.cost is None else self.cost + result.cost
