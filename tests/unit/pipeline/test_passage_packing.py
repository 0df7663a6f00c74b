"""What was found, in the prompt: what comes first, what is cut, and that all of it fits."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.pipeline.prompting.documentation import CHARACTERS_PER_TOKEN, pack
from tests.unit.world import MATH, api

PAGE = Passage("documentation", "Roots", "How roots are taken of numbers.", "docs/roots.md", licence="CC BY 4.0")
CODE = Passage("snippet", "take a root", "import math\nprint(math.gcd(4, 6))", "snippet 1", ("math.gcd",), True, "3.11")
MANY = [api(f"lib.f{i}", f"Does {i}. " + "word " * 900) for i in range(20)]


def size(found):
    return len(found.snippets) + len(found.apis) + len(found.passages)


@pytest.mark.parametrize("tokens", [500, 1000, 4000, 20_000])
@pytest.mark.parametrize("passages", [0, 3, 40])
def test_all_of_it_fits_into_the_budget(tokens, passages):
    texts = [replace(PAGE, text=f"{i} " + "text " * 600, origin=str(i)) for i in range(passages)]
    codes = [replace(CODE, text=f"x = {i}\n" * 300, origin=f"c{i}") for i in range(passages)]
    assert size(pack(MANY, [*texts, *codes], tokens)) <= tokens * CHARACTERS_PER_TOKEN + 400


def test_every_api_is_named_before_details():
    text = pack(MANY, (), 4000).apis
    assert all(f"lib.f{i}" in text for i in range(20))
    assert text.index("### lib.f0") < text.index("### lib.f3") < text.index("lib.f19")
    assert text.count("characters left out") >= 4


def test_what_does_not_fit_is_counted():
    assert "more left out)" in pack(MANY * 5, (), 500).apis
    assert "(7 more left out)" in pack(MATH, [replace(PAGE, text=f"{i}") for i in range(8)], 500).passages


def test_apis_that_the_passages_code_calls_come_first():
    assert pack(MATH, (), 4000).apis.index("math.sqrt") < pack(MATH, (), 4000).apis.index("math.gcd")
    text = pack(MATH, [CODE], 4000).apis
    assert text.index("math.gcd") < text.index("math.sqrt")
    text = pack(MATH, [replace(CODE, apis=(), text="math.floor(2.5)")], 4000).apis
    assert text.index("math.floor") < text.index("math.sqrt")


def test_the_first_apis_are_described_at_length():
    code = replace(CODE, apis=tuple(item.path for item in MANY[4:8]))
    text = pack(MANY, [code], 4000).apis
    assert text.index("### lib.f4") < text.index("### lib.f0")
    parts = {part.partition("(")[0]: len(part) for part in text.split("### ")}
    assert parts["lib.f0"] > 1500 > parts.get("lib.f2", 0)


def test_nothing_is_repeated():
    doubled = [PAGE, replace(PAGE, source="web", origin="elsewhere"), replace(PAGE, text="  How roots are\n taken")]
    assert pack((), doubled, 4000).passages.count("roots are") == 1
    documented = replace(PAGE, text="Return the square root of x.")
    assert pack(MATH, [documented], 4000).passages == ""


def test_a_passage_says_where_it_is_from():
    assert "[documentation: Roots; docs/roots.md; CC BY 4.0]" in pack((), [PAGE], 4000).passages
    code = pack((), [CODE], 4000).snippets
    assert "[snippet: take a root; snippet 1]\n```python\nimport math" in code
