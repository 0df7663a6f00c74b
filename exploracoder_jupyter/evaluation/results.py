"""The results of an evaluation: one for each unit, sums over the samples of a problem, and measures as ratios of
sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from exploracoder_jupyter.core.types import Outcome

# The result of one unit of an evaluation: one sample of one strategy on one problem. One line in the results.


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What one unit produced and cost."""

    unit: str
    """Digest of everything that determines the unit: problem, strategy, model, settings, sample."""
    problem: str
    problem_set: str
    strategy: str
    model: str
    sample: int
    """Number of the sample, from 0."""
    outcome: Outcome = "stopped"
    """Verdict of the run itself, which has not seen the tests."""
    passed: bool = False
    """Whether the solution passed all tests."""
    ran: bool = False
    """Whether the solution ran to its end without an error where the tests were run."""
    tests_passed: int = 0
    tests: int = 0
    failure: str = ""
    """Kind of failure: empty if passed, else `no solution`, the name of an exception, `timeout`, `died`,
    `wrong result`, `tampering` (it manipulates or reads the tests), `budget`, `endpoint` or `fault`."""
    fault: str = ""
    """An error of this program, not of the solution; must not occur. Empty if there was none."""
    missing_apis: tuple[str, ...] = ()
    """Names that the solution accesses on the libraries and that do not exist there."""
    recall: float | None = None
    """Share of the gold APIs that the solution calls; `None` if they are not known."""
    precision: float | None = None
    """Share of the library's APIs called by the solution that are gold APIs; `None` if they are not known."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    executions: int = 0
    seconds: float = 0.0
    """Duration of the run, the tests not included."""
    cost: float | None = None
    """In money, if the price of the model is set."""
    code: str = ""
    """The solution."""
    trace: str = ""
    """Path of the trace notebook, relative to the folder of the results."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of the libraries and of this package."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings that differ from their defaults."""


# Sums over the samples of each problem: the form in which results are measured.

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


# What is measured: each measure is a ratio of two sums over problems, so that problems can be resampled.
#
# A mean over problems has the denominator 1 for each problem, or 0 where the value is unknown. The samples of a
# problem are averaged first, so that every problem has the same weight. Tokens per solved problem divide by pass@1.

Unit: TypeAlias = Literal["share", "number"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The sum of `numerators` over the sum of `denominators`; both have the shape (problems,)."""

    numerators: Floats
    denominators: Floats
    bounds: tuple[float, float] | None = None
    """Smallest and largest value that a problem can have, if there are such."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of an arm: a sum of `problem_sums` over another."""

    key: str
    title: str
    meaning: str
    unit: Unit
    sums: str
    counts: str = "samples"
    better: Literal["higher", "lower"] = "lower"

    def ratio(self, sums: ProblemSums) -> Ratio:
        """Return the measure as a mean over problems; per solved problem, both sums are divided by the samples."""
        if self.counts == "passed":
            samples = np.maximum(sums["samples"], 1)
            return Ratio(sums[self.sums] / samples, sums["passed"] / samples)
        bounds = (0.0, 1.0) if self.unit == "share" else None
        return mean_over_problems(sums[self.sums], sums[self.counts], bounds)


def pass_at_k(samples: Floats, successes: Floats, k: int) -> Floats:
    """Estimate for each problem the probability that at least one of `k` samples succeeds, without bias.

    This is 1 - C(n - c, k) / C(n, k) for n samples with c successes (Chen et al. 2021, "Evaluating Large Language
    Models Trained on Code", section 2.1), as a product, which neither overflows nor loses digits; a ValueError if
    a problem has fewer than `k` samples.
    """
    if k < 1 or np.any(samples < k):
        raise ValueError(f"pass@{k} needs at least {max(k, 1)} samples of each problem")
    failures, none_succeeds = samples - successes, np.ones_like(samples)
    for drawn in range(k):
        none_succeeds = none_succeeds * np.maximum(failures - drawn, 0) / (samples - drawn)
    return 1 - none_succeeds


def mean_over_problems(sums: Floats, counts: Floats, bounds: tuple[float, float] | None = None) -> Ratio:
    """Return the mean over problems of `sums / counts`; problems with a count of 0 are left out."""
    known = counts > 0
    return Ratio(np.divide(sums, counts, out=np.zeros_like(sums), where=known), known.astype(np.float64), bounds)


MEASURES: Final = (
    Measure(
        "pass@1",
        "pass@1",
        "Share of runs whose solution passes all hidden tests.",
        "share",
        "passed",
        "samples",
        "higher",
    ),
    Measure(
        "success@1",
        "success@1",
        "Share of runs whose solution runs to its end without an error.",
        "share",
        "ran",
        "samples",
        "higher",
    ),
    Measure(
        "test_rate",
        "Tests passed",
        "Share of the tests of a problem that a solution passes.",
        "share",
        "test_shares",
        "tested",
        "higher",
    ),
    Measure(
        "invented",
        "Missing APIs",
        "Share of programs that access an API which does not exist.",
        "share",
        "inventing",
        "programs",
    ),
    Measure(
        "recall",
        "API recall",
        "Share of the gold APIs that a solution calls.",
        "share",
        "recalls",
        "recalls_known",
        "higher",
    ),
    Measure(
        "precision",
        "API precision",
        "Share of the library's APIs called by a solution that are gold APIs.",
        "share",
        "precisions",
        "precisions_known",
        "higher",
    ),
    Measure("tokens", "Tokens", "Prompt and completion tokens of a run.", "number", "tokens"),
    Measure("prompt_tokens", "Prompt tokens", "Prompt tokens of a run.", "number", "prompt_tokens"),
    Measure("completion_tokens", "Completion tokens", "Completion tokens of a run.", "number", "completion_tokens"),
    Measure(
        "tokens_per_solved",
        "Tokens per solved",
        "Tokens spent for each run that passes: tokens divided by pass@1.",
        "number",
        "tokens",
        "passed",
    ),
    Measure("cost", "Cost", "Cost of a run in money.", "number", "cost"),
    Measure(
        "cost_per_solved",
        "Cost per solved",
        "Money spent for each run that passes: cost divided by pass@1.",
        "number",
        "cost",
        "passed",
    ),
    Measure("calls", "Calls", "Model calls of a run.", "number", "calls"),
    Measure("seconds", "Seconds", "Duration of a run, tests not included.", "number", "seconds"),
    Measure("executions", "Executions", "Executions of code in a run.", "number", "executions"),
    Measure(
        "faults",
        "Faults",
        "Share of runs that ended by a fault of the evaluation or of a strategy, not of a solution; must be 0.",
        "share",
        "faults",
    ),
)
"""All measures of an arm in the order of the table."""
