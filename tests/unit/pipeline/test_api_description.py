"""How a prompt describes an API: in full if it is short, else what it does, its parameters, what it returns."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.pipeline.prompting.documentation import describe_in_full
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
def test_a_long_description_keeps_parameters_and_says_so(most):
    text = describe_in_full(LONG, most)
    assert "\nDoes it. Sentence 0" in text and "----" not in text
    assert "- p0 (int): Number 0." in text
    assert all(one.name in text for one in PARAMETERS)
    assert "Returns: int. How many there are." in text
    assert text.endswith(f"(shortened: {len(LONG.description)} characters in all)")
    assert len(text) < most + 500


def test_parameters_are_described_as_far_as_possible():
    few = replace(LONG, parameters=PARAMETERS[:2])
    assert "Number 0. And more of it." in describe_in_full(few, 2200)
    assert "- p0 (int): Number 0.\n" in describe_in_full(LONG, 700)
    assert "- and p" in describe_in_full(LONG, 200)


def test_the_first_example_that_fits_is_shown():
    assert describe_in_full(LONG, 2200).count("```python") == 1 and "lib.f(7)" in describe_in_full(LONG, 2200)


def test_a_doctest_with_outputs_is_shown_once():
    doc = "Does it.\n\n>>> x = lib.make()\n>>> lib.f(x)\n3\n>>> lib.f(2)\n4"
    one = replace(api("lib.f", doc), examples=("x = lib.make()\nlib.f(x)\nlib.f(2)",))
    assert describe_in_full(one, 2200).count("lib.make()") == 1


def test_a_long_example_is_cut_after_its_call():
    call = "value = lib.f(\n    1,\n    2,\n)"
    example = "\n".join(["import lib", call, *(f"more = {number}" for number in range(200))])
    text = describe_in_full(replace(api("lib.f", "Does it."), examples=(example,)), 400)
    assert f"import lib\n{call}\n# ...\n" in text and "more" not in text


def test_an_example_without_room_is_left_out():
    example = "\n".join(["import lib", *(f"more = {number}" for number in range(200)), "lib.f(1)"])
    assert "```" not in describe_in_full(replace(api("lib.f", "Does it."), examples=(example,)), 400)


@pytest.mark.parametrize("most", [300, 420, 500])
def test_a_shortened_docstring_has_no_part_of_doctests(most):
    before = "Does it.\n\n" + "Words. " * 30
    doctest = "\n".join([">>> x = lib.make(1)", *(f">>> y{n} = x + {n}" for n in range(9)), ">>> lib.f(x)", "3"])
    text = describe_in_full(api("lib.f", f"{before}\n\n{doctest}\n\n{PROSE}"), most)
    assert ("lib.make" in text) == ("lib.f(x)\n3" in text)
