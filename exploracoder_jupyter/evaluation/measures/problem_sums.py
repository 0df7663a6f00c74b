"""Sums over the samples of each problem: the form in which results are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult

Floats: TypeAlias = NDArray[np.float64]


class ProblemKey(NamedTuple):
    """Identifies a problem; ids are unique only within their set."""

    problem_set: str
    problem: str


@dataclass(frozen=True, slots=True)
class ProblemSums:
    """Sums over the samples of each problem; all arrays have the shape (problems,)."""

    samples: Floats
    passed: Floats
    ran: Floats
    tested: Floats
    """Samples whose tests were run."""
    test_shares: Floats
    """Sum of the shares of tests passed, over `tested`."""
    programs: Floats
    """Samples that gave a program."""
    inventing: Floats
    """Programs that access an API which does not exist."""
    recalls_known: Floats
    recalls: Floats
    precisions_known: Floats
    precisions: Floats
    faults: Floats
    calls: Floats
    tokens: Floats
    prompt_tokens: Floats
    completion_tokens: Floats
    executions: Floats
    seconds: Floats
    priced: Floats
    """Samples whose cost is known."""
    cost: Floats

    def at(self, places: NDArray[np.intp]) -> ProblemSums:
        """Return the sums of the problems at these places, in this order."""
        return ProblemSums(**{field.name: getattr(self, field.name)[places] for field in fields(self)})


_VALUES: Final[Mapping[str, Callable[[UnitResult], float]]] = {
    "samples": lambda row: 1,
    "passed": lambda row: row.passed,
    "ran": lambda row: row.ran,
    "tested": lambda row: row.tests > 0,
    "test_shares": lambda row: row.tests_passed / row.tests if row.tests else 0,
    "programs": lambda row: bool(row.code or row.missing_apis),
    "inventing": lambda row: bool(row.missing_apis),
    "recalls_known": lambda row: row.recall is not None,
    "recalls": lambda row: row.recall or 0,
    "precisions_known": lambda row: row.precision is not None,
    "precisions": lambda row: row.precision or 0,
    "faults": lambda row: bool(row.fault),
    "calls": lambda row: row.calls,
    "tokens": lambda row: row.prompt_tokens + row.completion_tokens,
    "prompt_tokens": lambda row: row.prompt_tokens,
    "completion_tokens": lambda row: row.completion_tokens,
    "executions": lambda row: row.executions,
    "seconds": lambda row: row.seconds,
    "priced": lambda row: row.cost is not None,
    "cost": lambda row: row.cost or 0,
}


def problem_key(row: UnitResult) -> ProblemKey:
    """Return the problem that the unit belongs to."""
    return ProblemKey(row.problem_set, row.problem)


def problem_sums(rows: Sequence[UnitResult], places: Mapping[ProblemKey, int]) -> ProblemSums:
    """Sum the samples of each problem; `places` numbers all problems from 0."""
    where = np.array([places[problem_key(row)] for row in rows], dtype=np.intp)
    return ProblemSums(**{name: _sums(rows, where, len(places), value) for name, value in _VALUES.items()})


def _sums(
    rows: Sequence[UnitResult], where: NDArray[np.intp], problems: int, value: Callable[[UnitResult], float]
) -> Floats:
    values = np.fromiter(map(value, rows), dtype=np.float64, count=len(rows))
    return np.bincount(where, weights=values, minlength=problems).astype(np.float64)
