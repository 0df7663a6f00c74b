"""Whether a unit whose worker died is started again, and whether an evaluation goes on while its endpoint fails."""

from __future__ import annotations

from collections import Counter
from typing import Final

from exploracoder_jupyter.core.errors import EndpointError

MOST_ATTEMPTS: Final = 3
"""How often a unit is started at most, if its worker dies each time."""
_ENDPOINT_FAILURES: Final = 20
"""Number of units in a row that the endpoint fails before the evaluation stops."""


class RetryPolicy:
    """Counts the deaths of workers for each unit, and the failures of the endpoint in a row."""

    def __init__(self) -> None:
        self._deaths: Counter[str] = Counter()
        self._endpoint_failures = 0

    def retries_after_death(self, digest: str) -> bool:
        """Count a death of the unit's worker; return whether the unit is started again."""
        self._deaths[digest] += 1
        return self._deaths[digest] < MOST_ATTEMPTS

    def count_result(self, *, endpoint_failed: bool) -> None:
        """Count the result of a unit.

        Raises:
            EndpointError: the endpoint has failed so many units in a row that going on would not help.
        """
        self._endpoint_failures = self._endpoint_failures + 1 if endpoint_failed else 0
        if self._endpoint_failures >= _ENDPOINT_FAILURES:
            raise EndpointError(
                f"The model's endpoint failed for {self._endpoint_failures} units in a row.",
                remedy="Fix it, then continue with --resume.",
            )
