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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

import numpy as np

from exploracoder_jupyter.evaluation.measures.problem_sums import Floats
from exploracoder_jupyter.evaluation.measures.ratio_measures import Ratio

Method: TypeAlias = Literal["bca", "percentile"]

RESAMPLES: Final = 2000
_DRAWS_AT_ONCE: Final = 2_000_000
"""Limits the memory of one block of resamples to some tens of megabytes."""
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


def bootstrap(
    ratios: Sequence[Ratio],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    method: Method = "bca",
) -> list[Estimate]:
    """Estimate ratios, with their intervals. The draws are shared by all ratios over the same number of problems.

    Args:
        ratios: each over its own problems; those of one `Ratio` are the same, in the same order.
        seed: the same seed gives the same intervals.
        resamples: number of draws of problems.
        confidence: share of intervals that contain the true value in the long run.
        method: the kind of interval.
    """
    places: dict[int, list[int]] = {}
    for place, ratio in enumerate(ratios):
        places.setdefault(len(ratio.numerators), []).append(place)
    estimates: dict[int, Estimate] = {}
    for alike in places.values():
        draws = _draw([ratios[place] for place in alike], seed, resamples)
        for place, drawn in zip(alike, draws.T, strict=True):
            estimates[place] = _estimate(ratios[place], drawn, confidence, method)
    return [estimates[place] for place in range(len(ratios))]


def _draw(ratios: Sequence[Ratio], seed: int, resamples: int) -> Floats:
    """Return the ratios in each resample, of shape (resamples, ratios); NaN where nothing is known."""
    numerators = np.stack([ratio.numerators for ratio in ratios], axis=1)
    denominators = np.stack([ratio.denominators for ratio in ratios], axis=1)
    blocks = [
        _divide(times @ numerators, times @ denominators) for times in _times_drawn(len(numerators), seed, resamples)
    ]
    return np.concatenate(blocks) if blocks else np.empty((0, len(ratios)))


def _times_drawn(problems: int, seed: int, resamples: int) -> Iterator[Floats]:
    """Yield how often each problem is drawn, in blocks of shape (some resamples, problems)."""
    if problems == 0:
        return
    generator = np.random.default_rng(seed)
    block = max(_DRAWS_AT_ONCE // problems, 1)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        draws = generator.integers(problems, size=(size, problems)) + np.arange(size)[:, None] * problems
        yield np.bincount(draws.ravel(), minlength=size * problems).reshape(size, problems).astype(np.float64)


def _divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; infinity where only the denominator is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerators / denominators, dtype=np.float64)


def _estimate(ratio: Ratio, draws: Floats, confidence: float, method: Method) -> Estimate:
    known = (ratio.denominators > 0) | (ratio.numerators != 0)
    value = float(_divide(ratio.numerators.sum(), ratio.denominators.sum()))
    if not math.isfinite(value):
        return Estimate(None, None, None, int(known.sum()))
    measured = Ratio(ratio.numerators[known], ratio.denominators[known], ratio.bounds)
    low, high = _interval(measured, value, draws[~np.isnan(draws)], confidence, method)
    return Estimate(value, low, high, int(known.sum()))


def _interval(
    ratio: Ratio, value: float, draws: Floats, confidence: float, method: Method
) -> tuple[float | None, float | None]:
    values = _divide(ratio.numerators, ratio.denominators)
    if ratio.bounds and np.allclose(values, value):
        return _bounds_of_equal_values(value, ratio.bounds, len(values), confidence)
    if len(values) < 2:
        return None, None
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    low, high = _bca_tails(ratio, value, draws, tails) if method == "bca" else tails
    draws = np.sort(draws)
    return _quantile(draws, low), _quantile(draws, high)


def _quantile(ordered: Floats, share: float) -> float:
    """Return a value that occurs, never one between two, of which one may be infinite."""
    return float(ordered[min(max(math.ceil(share * len(ordered)) - 1, 0), len(ordered) - 1)])


def _bounds_of_equal_values(
    value: float, bounds: tuple[float, float], problems: int, confidence: float
) -> tuple[float, float]:
    unseen = 1 - ((1 - confidence) / 2) ** (1 / problems)
    return value - unseen * (value - bounds[0]), value + unseen * (bounds[1] - value)


def _bca_tails(ratio: Ratio, value: float, draws: Floats, tails: tuple[float, float]) -> tuple[float, float]:
    """Return the tails corrected for bias and acceleration; unchanged where the correction is undefined."""
    equal = np.isclose(draws, value, rtol=1e-9, atol=0)
    below = (np.count_nonzero((draws < value) & ~equal) + np.count_nonzero(equal) / 2) / len(draws)
    left_out = _divide(ratio.numerators.sum() - ratio.numerators, ratio.denominators.sum() - ratio.denominators)
    if not (0 < below < 1 and np.all(np.isfinite(left_out))):
        return tails
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * spread) if spread else 0.0
    bias = _NORMAL.inv_cdf(below)
    low, high = (_corrected(tail, bias, acceleration) for tail in tails)
    return low, high


def _corrected(tail: float, bias: float, acceleration: float) -> float:
    shifted = bias + _NORMAL.inv_cdf(tail)
    return _NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))
