"""What is measured: each measure is a ratio of two sums over problems, so that problems can be resampled.

A mean over problems has the denominator 1 for each problem, or 0 where the value is unknown. The samples of a problem
are averaged first, so that every problem has the same weight. Tokens per solved problem divide by pass@1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from exploracoder_jupyter.evaluation.measures.problem_sums import Floats, ProblemSums

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
