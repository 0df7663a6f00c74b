"""Decides which unit runs next, which run again, and when an evaluation stops. Pure: knows no process and no clock.

Workers of this machine, a Dask cluster and the simulation in `benchmarks/evaluation_scale.py` use the same queue.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from typing import Final, Generic, Protocol, TypeVar

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult

MOST_ATTEMPTS: Final = 3
"""How often a unit is started at most, if its worker dies each time."""
_RETRIED: Final = frozenset({"fault", "endpoint"})
_ENDPOINT_FAILURES: Final = 20
"""Number of units in a row that the endpoint fails before the evaluation stops."""


class _Digested(Protocol):
    @property
    def digest(self) -> str: ...


U = TypeVar("U", bound=_Digested)


def is_final(result: UnitResult) -> bool:
    """Whether a unit is not run again when the evaluation is resumed: it did not end by a fault or by the endpoint."""
    return not result.fault and result.failure not in _RETRIED


class UnitQueue(Generic[U]):
    """The units that are left, in order. A unit that is lost is the next to run again."""

    def __init__(self, units: Iterable[U], *, done: Collection[str] = ()) -> None:
        """`done` are digests of units that need not run. A unit that occurs twice runs once."""
        unique = {unit.digest: unit for unit in units}
        self._waiting = deque(unit for digest, unit in unique.items() if digest not in done)
        self._active: dict[str, U] = {}
        self._deaths: Counter[str] = Counter()
        self._endpoint_failures = 0

    @property
    def left(self) -> int:
        """Number of units that are not finished."""
        return len(self._waiting) + len(self._active)

    @property
    def active(self) -> int:
        """Number of units that are taken and neither finished nor lost."""
        return len(self._active)

    def take(self) -> U | None:
        """Return the next unit to run; `None` if there is none now."""
        if not self._waiting:
            return None
        unit = self._waiting.popleft()
        self._active[unit.digest] = unit
        return unit

    def finish(self, result: UnitResult) -> None:
        """Record the result of an active unit; EndpointError if the endpoint has failed too many units in a row."""
        self._active.pop(result.unit, None)
        self._endpoint_failures = self._endpoint_failures + 1 if result.failure == "endpoint" else 0
        if self._endpoint_failures >= _ENDPOINT_FAILURES:
            raise EndpointError(
                f"The model's endpoint failed for {self._endpoint_failures} units in a row.",
                remedy="Fix it, then continue with --resume.",
            )

    def lose(self, digest: str) -> bool:
        """Record that the worker of an active unit died. Returns whether the unit will run again."""
        unit = self._active.pop(digest)
        self._deaths[digest] += 1
        runs_again = self._deaths[digest] < MOST_ATTEMPTS
        if runs_again:
            self._waiting.appendleft(unit)
        return runs_again
