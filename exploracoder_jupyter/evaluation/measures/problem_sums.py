"""Sums over the samples of each problem: the form in which results are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult

Floats: TypeAlias = NDArray[np.float64]
ProblemSums: TypeAlias = Mapping[str, Floats]
"""Each of `_SUMMED` by its name; all arrays have the shape (problems,)."""


@dataclass(frozen=True, slots=True)
class ProblemKey:
    """Identifies a problem; ids are unique only within their set."""

    problem_set: str
    problem: str


_SUMMED: Final[Mapping[str, Callable[[UnitResult], float]]] = {
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
    "cost": lambda row: math.nan if row.cost is None else row.cost,  # unknown as a whole if one is
}


def problem_key(row: UnitResult) -> ProblemKey:
    """Return the problem that the unit belongs to."""
    return ProblemKey(row.problem_set, row.problem)


def problem_sums(rows: Sequence[UnitResult], places: Mapping[ProblemKey, int]) -> ProblemSums:
    """Sum the samples of each problem; `places` numbers all problems from 0."""
    where = np.array([places[problem_key(row)] for row in rows], dtype=np.intp)
    sums = {}
    for name, value in _SUMMED.items():
        values = np.fromiter(map(value, rows), dtype=np.float64, count=len(rows))
        sums[name] = np.bincount(where, weights=values, minlength=len(places)).astype(np.float64)
    return sums


def sums_at(sums: ProblemSums, places: NDArray[np.intp]) -> ProblemSums:
    """Return the sums of the problems at these places, in this order."""
    return {name: values[places] for name, values in sums.items()}
