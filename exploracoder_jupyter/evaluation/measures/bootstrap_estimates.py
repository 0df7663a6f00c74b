"""Confidence intervals by the bootstrap over problems.

Problems are drawn with replacement, and every measure is computed again on each draw. The interval is BCa
(bias-corrected and accelerated; Efron 1987, "Better Bootstrap Confidence Intervals"), or the percentile interval where
BCa is undefined.

Where all problems have the same value, no resampling can differ from it, and the bootstrap would claim certainty: 8 of
8 would be 100 % exactly. For bounded values the interval then is the exact one: with n problems, at most
1 - (α/2)^(1/n) of all problems can have other values. For 0 and 1 this is the interval of Clopper and Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from exploracoder_jupyter.evaluation.measures.measure_definitions import Ratio
from exploracoder_jupyter.evaluation.measures.problem_sums import Floats

RESAMPLES: Final = 2000
_DRAWS_AT_ONCE: Final = 2_000_000
"""Limits the memory of one block of resamples to some tens of megabytes."""
_TAILS: Final = (0.025, 0.975)
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the bounds of its interval."""

    value: float | None
    """`None` if undefined: nothing was measured, or, per solved problem, none was solved."""
    low: float | None
    """`None` if there is no interval: one problem does not bound an unbounded value."""
    high: float | None
    """Infinity if unbounded, such as tokens per solved problem when hardly any was solved."""
    problems: int
    """Number of problems that it was computed from."""


def bootstrap(ratios: Sequence[Ratio]) -> list[Estimate]:
    """Estimate ratios, each over its own problems, with their 95 % intervals.

    The draws are always the same, and shared by all ratios over the same number of problems.
    """
    estimates: dict[int, Estimate] = {}
    for problems in {len(ratio.numerators) for ratio in ratios}:
        alike = [place for place, ratio in enumerate(ratios) if len(ratio.numerators) == problems]
        draws = _draw([ratios[place] for place in alike], problems)
        estimates |= {place: _estimate(ratios[place], drawn) for place, drawn in zip(alike, draws.T, strict=True)}
    return [estimates[place] for place in range(len(ratios))]


def _draw(ratios: Sequence[Ratio], problems: int) -> Floats:
    """Return the ratios in each resample, of shape (resamples, ratios); NaN where nothing is known."""
    if problems == 0:
        return np.empty((0, len(ratios)))
    numerators = np.stack([ratio.numerators for ratio in ratios], axis=1)
    denominators = np.stack([ratio.denominators for ratio in ratios], axis=1)
    generator, block, drawn = np.random.default_rng(0), max(_DRAWS_AT_ONCE // problems, 1), list[Floats]()
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        places = generator.integers(problems, size=(size, problems)) + np.arange(size)[:, None] * problems
        times = np.bincount(places.ravel(), minlength=size * problems).reshape(size, problems).astype(np.float64)
        drawn.append(_divide(times @ numerators, times @ denominators))
    return np.concatenate(drawn)


def _divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; infinity where only the denominator is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerators / denominators, dtype=np.float64)


def _estimate(ratio: Ratio, draws: Floats) -> Estimate:
    known = (ratio.denominators > 0) | (ratio.numerators != 0)
    value, problems = float(_divide(ratio.numerators.sum(), ratio.denominators.sum())), int(known.sum())
    if not math.isfinite(value):
        return Estimate(None, None, None, problems)
    values = _divide(ratio.numerators[known], ratio.denominators[known])
    if ratio.bounds and np.allclose(values, value):
        unseen = 1 - _TAILS[0] ** (1 / problems)
        low, high = ratio.bounds
        return Estimate(value, value - unseen * (value - low), value + unseen * (high - value), problems)
    if problems < 2:
        return Estimate(value, None, None, problems)
    draws = np.sort(draws[~np.isnan(draws)])
    tails = _bca_tails(ratio.numerators[known], ratio.denominators[known], value, draws)
    low, high = (_quantile(draws, tail) for tail in tails)
    return Estimate(value, low, high, problems)


def _quantile(ordered: Floats, share: float) -> float:
    """Return a value that occurs, never one between two, of which one may be infinite."""
    return float(ordered[min(max(math.ceil(share * len(ordered)) - 1, 0), len(ordered) - 1)])


def _bca_tails(numerators: Floats, denominators: Floats, value: float, draws: Floats) -> tuple[float, ...]:
    """Return the tails corrected for bias and acceleration; unchanged where the correction is undefined."""
    equal = np.isclose(draws, value, rtol=1e-9, atol=0)
    below = (np.count_nonzero((draws < value) & ~equal) + np.count_nonzero(equal) / 2) / len(draws)
    left_out = _divide(numerators.sum() - numerators, denominators.sum() - denominators)
    if not (0 < below < 1 and np.all(np.isfinite(left_out))):
        return _TAILS
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * spread) if spread else 0.0
    bias = _NORMAL.inv_cdf(below)
    shifted = [bias + _NORMAL.inv_cdf(tail) for tail in _TAILS]
    return tuple(_NORMAL.cdf(bias + shift / (1 - acceleration * shift)) for shift in shifted)
