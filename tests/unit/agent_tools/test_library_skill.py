"""A skill that was written is read as the same recipes."""

import pytest

from exploracoder_jupyter.agent_tools.library_skill import Outcome, Recipe, parse_skill, write_skill
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import ErrorInfo, Observation

RECIPES = [
    Recipe("Plain", "x = 1\nprint(x)\n"),
    Recipe("With a check", "y = 2\n", "assert y == 2\n"),
    Recipe("With fences", "text = '''\n```python\nnot a recipe\n```\n'''\n"),
]


def test_recipes_are_read_as_written():
    text = write_skill("lib", "1.0", [Outcome(one, Observation("ok", text="## Not a heading\n1")) for one in RECIPES])
    assert [(one.title, one.code.strip(), one.check.strip()) for one in parse_skill(text)] == [
        (one.title, one.code.strip(), one.check.strip()) for one in RECIPES
    ]
    assert text.startswith('---\nname: "lib"\ndescription: ')


def test_a_recipe_that_fails_is_left_out():
    failed = Outcome(RECIPES[0], Observation("error", error=ErrorInfo("NameError", "gone", nearest=("lib.went",))))
    assert failed.why == "NameError: gone Did you mean: lib.went"
    with pytest.raises(UsageError):
        parse_skill(write_skill("lib", "1.0", [failed]))
