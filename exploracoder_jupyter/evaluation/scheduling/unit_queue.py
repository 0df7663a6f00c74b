"""Decides which unit runs next; `retry_policy` decides which run again. Pure: knows no process and no clock.

Workers of this machine, a Dask cluster and the simulation in `benchmarks/evaluation_scale.py` use the same queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import Generic, Protocol, TypeVar

from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.scheduling.retry_policy import RetryPolicy


class Digested(Protocol):
    """What the queue needs of a unit."""

    @property
    def digest(self) -> str:
        """Identifies the unit."""
        ...


U = TypeVar("U", bound=Digested)


class UnitQueue(Generic[U]):
    """The units that are left, in order. A unit that is lost is the next to run again."""

    def __init__(self, units: Iterable[U], *, done: Collection[str] = ()) -> None:
        """`done` are digests of units that need not run. A unit that occurs twice runs once."""
        unique = {unit.digest: unit for unit in units}
        self._waiting = deque(unit for digest, unit in unique.items() if digest not in done)
        self._active: dict[str, U] = {}
        self._retry_policy = RetryPolicy()
        self._stopped = False

    @property
    def left(self) -> int:
        """Number of units that are not finished."""
        return len(self._waiting) + len(self._active)

    @property
    def active(self) -> int:
        """Number of units that are taken and neither finished nor lost."""
        return len(self._active)

    @property
    def is_over(self) -> bool:
        """Whether no unit is active and none is to be taken any more."""
        return not self._active and (self._stopped or not self._waiting)

    def take(self) -> U | None:
        """Return the next unit to run; `None` if there is none now."""
        if self._stopped or not self._waiting:
            return None
        unit = self._waiting.popleft()
        self._active[unit.digest] = unit
        return unit

    def finish(self, result: UnitResult) -> None:
        """Record that an active unit has a result.

        Raises:
            EndpointError: the endpoint has failed so many units in a row that going on would not help.
        """
        self._active.pop(result.unit, None)
        self._retry_policy.count_result(endpoint_failed=result.failure == "endpoint")

    def lose(self, digest: str) -> bool:
        """Record that the worker of an active unit died. Returns whether the unit will run again."""
        unit = self._active.pop(digest)
        runs_again = self._retry_policy.retries_after_death(digest)
        if runs_again:
            self._waiting.appendleft(unit)
        return runs_again

    def stop(self) -> None:
        """Hand out no further units."""
        self._stopped = True
