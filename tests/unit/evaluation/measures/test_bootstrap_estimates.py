"""Intervals by the bootstrap: coverage, and what is defined where there is little to resample."""

import math

import numpy as np
import pytest

from exploracoder_jupyter.evaluation.results import Ratio
from exploracoder_jupyter.evaluation.statistics import bootstrap


def mean(values, bounds=None):
    values = np.array(values, dtype=float)
    return Ratio(values, np.ones_like(values), bounds)


def test_95_of_100_intervals_contain_the_mean():
    random = np.random.default_rng(4)
    ratios = [mean(random.binomial(1, 0.7, 60), (0, 1)) for _ in range(300)]
    covered = [one.low <= 0.7 <= one.high for one in bootstrap(ratios)]
    assert 0.90 <= sum(covered) / len(covered) <= 0.99


def test_intervals_are_normal_or_lean_to_the_tail():
    values = np.random.default_rng(5).normal(10, 2, 400)
    [one, skewed] = bootstrap([mean(values), mean(np.random.default_rng(6).exponential(1, 25))])
    half = 1.96 * values.std() / 20
    assert (one.low, one.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)
    assert skewed.high - skewed.value > 1.2 * (skewed.value - skewed.low)


@pytest.mark.parametrize(
    ("values", "bounds", "expected"),
    [
        ([1] * 8, (0, 1), (0.025 ** (1 / 8), 1)),  # Clopper and Pearson for 8 of 8: 63.1 % to 100 %
        ([0] * 8, (0, 1), (0, 1 - 0.025 ** (1 / 8))),
        ([1], (0, 1), (0.025, 1)),
        ([0] * 8, (-1, 1), (0.025 ** (1 / 8) - 1, 1 - 0.025 ** (1 / 8))),
        ([7.0] * 8, None, (7, 7)),
        ([7.0], None, (None, None)),
    ],
)
def test_equal_values_do_not_claim_certainty(values, bounds, expected):
    [one] = bootstrap([mean(values, bounds)])
    assert one.value == values[0]
    assert (one.low, one.high) == (expected if expected[0] is None else pytest.approx(expected))


def test_missing_values_are_omitted_or_undefined():
    [nothing, unknown, one] = bootstrap(
        [mean([]), Ratio(np.zeros(3), np.zeros(3)), Ratio(np.array([2.0, 4, 0]), np.array([1.0, 1, 0]))]
    )
    assert (nothing.value, nothing.low, nothing.high, nothing.problems) == (None, None, None, 0)
    assert (unknown.value, unknown.problems) == (None, 0)
    assert (one.value, one.problems, one.low, one.high) == (3, 2, 2, 4)


def test_a_cost_per_success_may_be_unbounded():
    [rare, none] = bootstrap([Ratio(np.full(6, 10.0), np.eye(6)[0]), Ratio(np.full(6, 10.0), np.zeros(6))])
    assert (rare.value, rare.high) == (60, math.inf)
    assert none.value is None
