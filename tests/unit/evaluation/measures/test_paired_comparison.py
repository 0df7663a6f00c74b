"""McNemar's test against values by hand; Holm's adjustment."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.evaluation.statistics import holm, mcnemar


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_binomial_tail(first, second):
    tail = sum(comb(first + second, at) for at in range(min(first, second) + 1)) / 2 ** (first + second)
    assert mcnemar(first, second) == pytest.approx(min(2 * tail, 1))


def test_holm_multiplies_by_the_remaining_hypotheses():
    assert holm([0.04, 0.01, 0.03, 0.9]) == pytest.approx([0.09, 0.04, 0.09, 0.9])
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1, 1]
