"""Figures as text."""

import math

import pytest

from exploracoder_jupyter.evaluation.report import estimate_text, p_value_text
from exploracoder_jupyter.evaluation.statistics import Estimate


@pytest.mark.parametrize(
    ("estimate", "unit", "text"),
    [
        (Estimate(0.75, 0.6, 0.875, 40), "share", "75 % (60 to 88)"),
        (Estimate(0.7512, 0.7, 0.8, 1000), "share", "75.1 % (70.0 to 80.0)"),
        (Estimate(0.9958, 0.9904, 1, 60), "share", "99.6 % (99 to 100)"),
        (Estimate(81234, 70051, 99999, 9), "number", "81,200 (70,100 to 100,000)"),
        (Estimate(1.0, 1.0, 1.1251, 9), "number", "1 (1 to 1.13)"),
        (Estimate(6000, 900, math.inf, 9), "number", "6,000 (900 to ∞)"),
        (Estimate(0.00312, 0.003, 0.0041, 9), "number", "0.00312 (0.00300 to 0.00410)"),
        (Estimate(-30.52, -60, 0, 9), "number", "-30.5 (-60 to 0)"),
        (Estimate(12, None, None, 1), "number", "12 (no interval from one problem)"),
        (Estimate(None, None, None, 0), "share", "–"),
    ],
)
def test_an_estimate_has_only_digits_that_mean_something(estimate, unit, text):
    assert estimate_text(estimate, unit) == text


@pytest.mark.parametrize(("value", "text"), [(0.0002, "< 0.001"), (0.0123, "0.012"), (0.5, "0.50"), (1, "1.00")])
def test_p_values(value, text):
    assert p_value_text(value) == text
