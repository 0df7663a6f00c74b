"""How many of many cases are tried: by the profile of hypothesis, which `tests/conftest.py` defines."""

from hypothesis import settings


def sampled(cases):
    """As many of these cases as the profile of hypothesis tries examples, evenly spaced, the last one among them."""
    step = -(-len(cases) // settings().max_examples)
    return cases[::-1][::step]
