"""How a prompt describes an API: in full if it is short, else what it does, its parameters, what it returns."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.pipeline.prompting.api_description import describe_in_full
from tests.unit.world import api

PROSE = " ".join(f"Sentence {i} says something of it." for i in range(60))
PARAMETERS = tuple(Parameter(f"p{i}", "int", about=f"Number {i}. {'And more of it. ' * 20}") for i in range(9))
LONG = replace(
    api("lib.f", f"Does it.\n\n{PROSE}\n\nParameters\n----------\np0 : int\n    {PROSE}\n\nReturns\n-------\nint"),
    parameters=PARAMETERS,
    returns="int. How many there are.",
    examples=("lib.f(" + "1, " * 800 + ")", "lib.f(7)"),
)


def test_a_short_description_is_complete():
    short = replace(LONG, description="Does it.\n\nParameters\n----------\np0 : int", examples=())
    assert describe_in_full(short, 500) == "### lib.f(x)\nDoes it.\n\nParameters\n----------\np0 : int"


@pytest.mark.parametrize("most", [400, 700, 2200])
def test_a_long_description_keeps_the_parameters_and_says_that_it_was_cut(most):
    text = describe_in_full(LONG, most)
    assert "\nDoes it. Sentence 0" in text and "----" not in text
    assert "- p0 (int): Number 0." in text
    assert all(one.name in text for one in PARAMETERS)
    assert "Returns: int. How many there are." in text
    assert text.endswith(f"(shortened: {len(LONG.description)} characters in all)")
    assert len(text) < most + 500


def test_parameters_are_described_as_far_as_they_fit_and_the_rest_is_named():
    few = replace(LONG, parameters=PARAMETERS[:2])
    assert "Number 0. And more of it." in describe_in_full(few, 2200)
    assert "- p0 (int): Number 0.\n" in describe_in_full(LONG, 700)
    assert "- and p" in describe_in_full(LONG, 200)


def test_the_first_example_that_fits_is_shown():
    assert describe_in_full(LONG, 2200).count("```python") == 1 and "lib.f(7)" in describe_in_full(LONG, 2200)
