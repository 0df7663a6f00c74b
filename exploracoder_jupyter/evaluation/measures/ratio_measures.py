"""What is measured: each measure is a ratio of two sums over problems, so that problems can be resampled.

A mean over problems has the denominator 1 for each problem, or 0 where the value is unknown. The samples of a problem
are averaged first, so that every problem has the same weight. Tokens per solved problem divide by pass@1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from exploracoder_jupyter.evaluation.measures.problem_sums import Floats, ProblemSums

Unit: TypeAlias = Literal["share", "number", "seconds", "money"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The sum of `numerators` over the sum of `denominators`; both have the shape (problems,)."""

    numerators: Floats
    denominators: Floats
    bounds: tuple[float, float] | None = None
    """Smallest and largest value that a problem can have, if there are such."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of an arm, and how it is computed."""

    key: str
    title: str
    meaning: str
    unit: Unit
    ratio: Callable[[ProblemSums], Ratio]
    better: Literal["higher", "lower"] = "lower"


def pass_at_k(samples: Floats, successes: Floats, k: int) -> Floats:
    """Estimate for each problem the probability that at least one of `k` samples succeeds, without bias.

    This is 1 - C(n - c, k) / C(n, k) for n samples with c successes (Chen et al. 2021, "Evaluating Large Language
    Models Trained on Code", section 2.1), as a product, which neither overflows nor loses digits.

    Raises:
        ValueError: `k` is less than 1, or a problem has fewer than `k` samples.
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


def ratio_at_k(sums: ProblemSums, successes: Floats, k: int) -> Ratio:
    """Return pass@k, or success@k, as a mean over problems.

    Raises:
        ValueError: as `pass_at_k`.
    """
    values = pass_at_k(sums.samples, successes, k)
    return Ratio(values, np.ones_like(values), (0, 1))


def _share(sums: Floats, counts: Floats) -> Ratio:
    return mean_over_problems(sums, counts, (0, 1))


def _per_solved(spent: Floats, sums: ProblemSums) -> Ratio:
    known = np.maximum(sums.samples, 1)
    return Ratio(spent / known, sums.passed / known)


def _cost(sums: ProblemSums) -> Floats:
    """Return the cost of each problem; NaN everywhere if the cost of any sample is unknown."""
    return sums.cost if np.array_equal(sums.priced, sums.samples) else np.full_like(sums.cost, np.nan)


MEASURES: Final = (
    Measure(
        "pass@1",
        "pass@1",
        "Share of runs whose solution passes all hidden tests.",
        "share",
        lambda sums: _share(sums.passed, sums.samples),
        "higher",
    ),
    Measure(
        "success@1",
        "success@1",
        "Share of runs whose solution runs to its end without an error.",
        "share",
        lambda sums: _share(sums.ran, sums.samples),
        "higher",
    ),
    Measure(
        "test_rate",
        "Tests passed",
        "Share of the tests of a problem that a solution passes.",
        "share",
        lambda sums: _share(sums.test_shares, sums.tested),
        "higher",
    ),
    Measure(
        "invented",
        "Missing APIs",
        "Share of programs that access an API which does not exist.",
        "share",
        lambda sums: _share(sums.inventing, sums.programs),
    ),
    Measure(
        "recall",
        "API recall",
        "Share of the gold APIs that a solution calls.",
        "share",
        lambda sums: _share(sums.recalls, sums.recalls_known),
        "higher",
    ),
    Measure(
        "precision",
        "API precision",
        "Share of the library's APIs called by a solution that are gold APIs.",
        "share",
        lambda sums: _share(sums.precisions, sums.precisions_known),
        "higher",
    ),
    Measure(
        "tokens",
        "Tokens",
        "Prompt and completion tokens of a run.",
        "number",
        lambda sums: mean_over_problems(sums.tokens, sums.samples),
    ),
    Measure(
        "prompt_tokens",
        "Prompt tokens",
        "Prompt tokens of a run.",
        "number",
        lambda sums: mean_over_problems(sums.prompt_tokens, sums.samples),
    ),
    Measure(
        "completion_tokens",
        "Completion tokens",
        "Completion tokens of a run.",
        "number",
        lambda sums: mean_over_problems(sums.completion_tokens, sums.samples),
    ),
    Measure(
        "tokens_per_solved",
        "Tokens per solved",
        "Tokens spent for each run that passes: tokens divided by pass@1.",
        "number",
        lambda sums: _per_solved(sums.tokens, sums),
    ),
    Measure(
        "cost",
        "Cost",
        "Cost of a run in money.",
        "money",
        lambda sums: mean_over_problems(_cost(sums), sums.samples),
    ),
    Measure(
        "cost_per_solved",
        "Cost per solved",
        "Money spent for each run that passes: cost divided by pass@1.",
        "money",
        lambda sums: _per_solved(_cost(sums), sums),
    ),
    Measure(
        "calls",
        "Calls",
        "Model calls of a run.",
        "number",
        lambda sums: mean_over_problems(sums.calls, sums.samples),
    ),
    Measure(
        "seconds",
        "Seconds",
        "Duration of a run, tests not included.",
        "seconds",
        lambda sums: mean_over_problems(sums.seconds, sums.samples),
    ),
    Measure(
        "executions",
        "Executions",
        "Executions of code in a run.",
        "number",
        lambda sums: mean_over_problems(sums.executions, sums.samples),
    ),
    Measure(
        "faults",
        "Faults",
        "Share of runs that ended by a fault of the evaluation or of a strategy, not of a solution; must be 0.",
        "share",
        lambda sums: _share(sums.faults, sums.samples),
    ),
)
"""All measures of an arm in the order of the table."""
