"""Calls from signatures: what the offline model makes of documentation."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import CallContext, bind_parameters
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.goals import Goal
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import mutates, parse_parameters, return_type
from exploracoder_jupyter.llm.offline.inputs.task_values import find_values
from exploracoder_jupyter.llm.offline.inputs.word_matching import content_stems


def api(path, signature="(x)", description="", kind="function", examples=()):
    return ApiDoc(path, kind, signature, description, path.partition(".")[0], "1", examples)


def context(text):
    return CallContext(find_values(text), content_stems(text), text=text)


CHUNKED = api(
    "lib.chunked",
    "(iterable, n, strict=False)",
    "Break *iterable* into lists of length *n*:\n\n"
    "    >>> list(chunked([1, 2, 3, 4, 5, 6], 3))\n    [[1, 2, 3], [4, 5, 6]]\n",
)


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("(a, b=1, *rest, key=None, **more)", ["a", "b", "rest", "key", "more"]),
        ("(self, item)", ["item"]),
        ("(start[, stop[, step]])", ["start", "stop", "step"]),
        ("(x, kind=<Kind.A: 1>) -> int", ["x", "kind"]),
        ("", []),
    ],
)
def test_parameters_of_a_signature(signature, names):
    assert [p.name for p in parse_parameters(api("lib.f", signature))] == names


def test_types_come_from_the_documentation():
    parameters = (Parameter("size", "int", about="How many."),)
    documented = replace(api("lib.f", "(size)"), parameters=parameters, returns="list. Them.")
    assert parse_parameters(documented)[0].type == "int"
    assert return_type(documented) == "list"


def test_values_are_bound_by_role_and_order():
    best = bind_parameters(CHUNKED, context("Split [1, 2, 3] into chunks with n = 2"))[0]
    assert best.arguments == ("[1, 2, 3]", "2")
    path = api("lib.path", "(G, source, target)")
    found = bind_parameters(path, context("the path in {'a': ['b']} to 'b' from 'a'"))
    assert found[0].arguments[1:] == ("'a'", "'b'")


def test_columns_of_points_are_passed_together_or_not_at_all():
    goal = Goal.of("Fit the points (0, 1), (1, 3)")
    fit = api("lib.fit", "(x, y)")
    bound = [binding.arguments for binding in bind_parameters(fit, CallContext(goal.values, goal.words))]
    assert ("[0, 1]", "[1, 3]") in bound
    assert not any(("[0, 1]" in arguments) != ("[1, 3]" in arguments) for arguments in bound)


def test_a_value_is_passed_under_the_noun_before_it():
    render = api("lib.render", "(*args, **kwargs)")
    assert bind_parameters(render, context("Render it with the name 'Ann'"))[0].arguments == ("name='Ann'",)


def test_nothing_is_bound_where_a_required_parameter_stays_empty():
    assert bind_parameters(api("lib.f", "(a, b, c)"), context("Take 1 and 2")) == []


def test_a_method_whose_doctest_shows_nothing_changes_its_object():
    add = api("lib.Bag.add", "(item)", ">>> bag = Bag()\n>>> bag.add(3)\n>>> bag.size\n1\n", "method")
    size = api("lib.Bag.count", "(item)", ">>> bag = Bag()\n>>> bag.count(3)\n0\n", "method")
    assert mutates(add) and not mutates(size)


def test_the_api_whose_name_and_text_answer_the_words_comes_first():
    pool = DocumentationPool()
    other = api("lib.divide_all", "(x)", "Divide numbers.")
    pool.add([other, CHUNKED])
    assert pool.rank_apis(content_stems("Split into chunks"))[0] is CHUNKED
