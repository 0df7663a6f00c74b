"""pass@k: against values by hand and against every choice of samples."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.evaluation.results import pass_at_k


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_it_is_the_share_of_choices_with_success(outcomes, data):
    k = data.draw(st.integers(1, len(outcomes)))
    choices = list(combinations(outcomes, k))
    share = sum(map(any, choices)) / len(choices)
    assert pass_at_k(np.array([len(outcomes)]), np.array([sum(outcomes)]), k)[0] == pytest.approx(share)


def test_many_samples_neither_overflow_nor_lose_digits():
    assert pass_at_k(np.array([100_000.0]), np.array([1.0]), 1000)[0] == pytest.approx(0.01)


@pytest.mark.parametrize("k", [0, 3])
def test_too_few_samples_are_an_error(k):
    with pytest.raises(ValueError):
        pass_at_k(np.array([5, 2]), np.array([1, 1]), k)
