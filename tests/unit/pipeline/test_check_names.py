"""Names that a check reads and the task does not mention."""

import pytest

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.prompting import prompt_inputs, requests
from exploracoder_jupyter.pipeline.solving.user_check import missing_names_notice, unmentioned_names


def names(check, text="Count the triangles.", **more):
    return unmentioned_names(Task(text, ("scikit-learn", "beanlib.sub"), check=check, **more))


@pytest.mark.parametrize(
    ("check", "found"),
    [
        ("assert result == 3", ("result",)),
        ("assert first < second and len(first) == sum(second)", ("first", "second")),
        (">>> result\n3", ("result",)),
        ("def test_x():\n    y = 1\n    assert [x + y for x in result]", ("result",)),
        ("import json as j\nfrom m import *\nwanted = j.loads('3')\nassert result.n == wanted", ("result",)),
        ("assert (n := 3) == n and {k: v for k, v in result.items()}", ("result",)),
        ("def check(value, *rest):\n    known = 3\n    assert value == known\ncheck(result)", ("result",)),
        ("assert math.isclose(result, np.pi) and sklearn_ and beanlib.x", ("result", "sklearn_")),
        ("assert code == 3 and math.pi", ("code",)),
        ("for i in range(3):\n    assert i\ntry:\n    pass\nexcept ValueError as error:\n    assert error", ()),
        ("assert Count", ()),
        ("assert x ==", ()),
        ("1 -> 2", ()),
        (None, ()),
    ],
)
def test_free_names_of_the_check_are_found(check, found):
    """Issue 14, item 16: what the check binds or imports, builtins, modules and attributes are left out."""
    assert names(check) == found


@pytest.mark.parametrize(
    "known",
    [
        {"text": "Count them; store the number in `result`."},
        {"text": "result: the number of triangles"},
        {"uses": ("result",)},
        {"solution_name": "result"},
    ],
)
def test_a_name_that_is_announced_is_not_reported(known):
    """Issue 14, item 16: by the task's words, as a variable of the user, or as the solution's function."""
    assert names("assert result", **known) == ()


def test_the_notice_names_them_and_the_remedy():
    """Issue 14, item 16: one sentence for all names, before anything is asked."""
    notice = missing_names_notice(Task("Count.", ("networkx",), check="assert a + b"))
    assert "`a` and `b`" in notice and "store it in `a`" in notice
    assert missing_names_notice(Task("Count a, b.", ("networkx",), check="assert a + b")) == ""


@pytest.mark.parametrize("step", ["solve", "repair"])
def test_the_model_gets_the_names_without_the_check(step):
    """Issue 14, item 16: a prompt names what the check reads, where the task does not."""

    def prompt(text):
        task = Task(text, ("networkx",), check="assert zeta == 4711")
        inputs = (
            prompt_inputs.SolveInputs(task, (), ()) if step == "solve" else prompt_inputs.RepairInputs(task, (), (), ())
        )
        return requests.render(step, inputs)[1].content

    assert "zeta" in prompt("Count.")
    assert "4711" not in prompt("Count.")
    assert prompt("Count zeta.").count("zeta") == 1
