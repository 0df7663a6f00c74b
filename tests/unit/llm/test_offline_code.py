"""Calls from signatures and adapted examples: what the offline model makes of documentation."""

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.calls import adapt_example
from exploracoder_jupyter.llm.offline.documentation import example_blocks, find_slices
from exploracoder_jupyter.llm.offline.drafts import bind_parameters
from exploracoder_jupyter.llm.offline.goals import Goal


def api(path, signature="(x)", description="", kind="function", examples=()):
    return ApiDoc(path, kind, signature, description, path.partition(".")[0], "1", examples)


def context(text):
    return Goal.of(text)


CHUNKED = api(
    "lib.chunked",
    "(iterable, n, strict=False)",
    "Break *iterable* into lists of length *n*:\n\n"
    "    >>> list(chunked([1, 2, 3, 4, 5, 6], 3))\n    [[1, 2, 3], [4, 5, 6]]\n",
)


def test_values_are_bound_by_role_and_order():
    assert bind_parameters(CHUNKED, context("Split [1, 2, 3] into chunks with n = 2"))[0].code == "[1, 2, 3], 2"
    path = api("lib.path", "(G, source, target)")
    best = bind_parameters(path, context("the path in {'a': ['b']} to 'b' from 'a'"))[0]
    assert best.code.endswith(", 'a', 'b'")


def test_values_are_passed_in_the_texts_order():
    found = bind_parameters(api("lib.window", "(data, width=None, step=None)"), context("Slide over [1, 2, 3] by 2"))
    assert "[1, 2, 3], 2" in [binding.code for binding in found]


def test_an_example_is_adapted_to_the_values():
    [block] = example_blocks(CHUNKED)
    [example_slice] = find_slices(block, "chunked")
    best = adapt_example(example_slice, CHUNKED, context("Split [7, 8, 9] into chunks of 2"))[0]
    assert best.result == "list(chunked([7, 8, 9], 2))"
    assert best.penalty == 0
    assert example_slice.type == "list[list[int]]"


def test_a_scalar_is_nested_like_its_literal():
    doc = ">>> m = Model()\n>>> m.predict([[3, 5]])\n[8]\n"
    predict = api("lib.Model.predict", "(X)", doc, "method")
    [example_slice] = find_slices(example_blocks(predict)[0], "predict")
    assert adapt_example(example_slice, predict, context("predict for 4"))[0].result == "m.predict([[4]])"
