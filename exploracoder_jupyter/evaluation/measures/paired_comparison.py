"""Compares two arms problem by problem, because all arms share the problems.

Whether one arm solves more is tested by McNemar's exact test (McNemar 1947) with one pair a problem: an arm solves a
problem if more than half of its samples pass. Pairs of single samples would make the p-value too small, since the
samples of a problem are not independent. The differences use all samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate, bootstrap
from exploracoder_jupyter.evaluation.measures.measure_definitions import Ratio, mean_over_problems
from exploracoder_jupyter.evaluation.measures.problem_sums import ProblemSums


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm against a baseline on the problems that both were run on; differences are arm minus baseline."""

    problems: int
    both: int
    """Problems that both solve, by the majority of their samples."""
    only_arm: int
    only_baseline: int
    neither: int
    p_value: float
    """Of the exact two-sided test; 1 if the arms solve the same problems."""
    pass_difference: Estimate
    """Difference of pass@1."""
    token_difference: Estimate
    """Difference of the tokens of a run."""
    token_ratio: Estimate
    """Tokens of the arm divided by those of the baseline."""


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test: a binomial test that both counts are equally likely."""
    pairs, fewer = only_first + only_second, min(only_first, only_second)
    log_total = math.lgamma(pairs + 1) - pairs * math.log(2)
    tail = (math.exp(log_total - math.lgamma(at + 1) - math.lgamma(pairs - at + 1)) for at in range(fewer + 1))
    return min(2 * math.fsum(tail), 1.0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of comparisons (Holm 1979); each stays at its place."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((len(p_values) - rank) * p_values[at], 1.0))
        adjusted[at] = largest
    return adjusted


def compare(pairs: Sequence[tuple[ProblemSums, ProblemSums]]) -> list[Comparison]:
    """Compare pairs of an arm and its baseline; the two of a pair are over the same problems, in the same order."""
    estimates = iter(bootstrap([ratio for pair in pairs for ratio in _differences(*pair)]))
    compared = []
    for pair in pairs:
        first, second = (sums["passed"] * 2 > sums["samples"] for sums in pair)
        only_arm, only_baseline = int(np.sum(first & ~second)), int(np.sum(second & ~first))
        compared.append(
            Comparison(
                problems=len(first),
                both=int(np.sum(first & second)),
                only_arm=only_arm,
                only_baseline=only_baseline,
                neither=int(np.sum(~first & ~second)),
                p_value=mcnemar(only_arm, only_baseline),
                pass_difference=next(estimates),
                token_difference=next(estimates),
                token_ratio=next(estimates),
            )
        )
    return compared


def _differences(*pair: ProblemSums) -> tuple[Ratio, Ratio, Ratio]:
    passes, baseline_passes = (sums["passed"] / sums["samples"] for sums in pair)
    tokens, baseline_tokens = (sums["tokens"] / sums["samples"] for sums in pair)
    everywhere = np.ones_like(passes)
    return (
        mean_over_problems(passes - baseline_passes, everywhere, (-1, 1)),
        mean_over_problems(tokens - baseline_tokens, everywhere),
        Ratio(tokens, baseline_tokens),
    )
