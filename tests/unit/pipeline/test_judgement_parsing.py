"""Replies to `invent` and `judge`, as small models give them."""

import json

import pytest

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.prompting.replies import parse_json
from exploracoder_jupyter.pipeline.solving.correctness_testing import (
    InventReply,
    display_last_value,
    parse_judgement,
    strip_assertions,
)

IDS = ("t1", "t2", "t3")
PROGRAM = "def f(x):\n    return x + 1"


def inputs(text):
    return [(one.title, one.before, one.after) for one in parse_json(text, InventReply).tests]


ONE = {"title": "empty", "before": "df = []", "after": "f(df)"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"tests": [ONE]}),
        json.dumps([ONE]),
        f"<think>what about [1, 2]?</think>Here they are:\n```json\n{json.dumps({'tests': [ONE]})}\n```",
        json.dumps({"inputs": [ONE]}),
        json.dumps({"tests": [{"name": "empty", "setup": "df = []", "call": "f(df)", "expected": 3}]}),
        json.dumps({"tests": [{"title": "**empty**", "before": ["df = []"], "after": "```python\nf(df)\n```"}]}),
        '{"tests": [{"title": "empty", "before": "df = []", "after": "f(df)",}]}',
    ],
)
def test_inputs_are_read_in_many_forms(text):
    assert inputs(text) == [("empty", "df = []", "f(df)")]


@pytest.mark.parametrize("text", ["", "I would try 1 and 2.", "[1, 2]", '{"tests": []}', "```text\nf(1)\n```"])
def test_what_holds_no_input_is_refused(text):
    with pytest.raises(ReplyError):
        inputs(text)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("f(1)", "f(1)"),
        ("assert f(1) == 2", "f(1)"),
        ("assert 2 == f(1), 'no'", "f(1)"),
        ("assert not f(1)", "f(1)"),
        ("assert f(1) == 2\nassert f(2) == 3", "print(f(1))\nf(2)"),
        ("assert f(1) == 2\nx = 3", "print(f(1))\nx = 3"),
        ("import numpy as np\nnp.testing.assert_array_equal(f(1), [2])", "import numpy as np\nf(1)"),
        ("for x in y:\n    assert f(x) > 0", "for x in y:\n    f(x)"),
    ],
)
def test_assertions_become_displays(code, shown):
    assert strip_assertions(code) == shown


def test_what_is_no_python_cannot_be_used():
    assert strip_assertions("f(1") is None
    assert strip_assertions("%timeit f(1)") is None


def test_a_value_that_is_assigned_last_is_displayed():
    assert display_last_value("y = f(1)") == "y = f(1)\ny"
    assert display_last_value("y: int = f(1)") == "y: int = f(1)\ny"
    assert display_last_value("f(1)") == "f(1)"
    assert display_last_value("") == ""


def verdict(text):
    judgement, code = parse_judgement(text, IDS)
    return judgement.ruling, {item.input: item.ruling for item in judgement.opinions}, code


@pytest.mark.parametrize(
    ("text", "ruling"),
    [
        ("right", "right"),
        ("Verdict: correct", "right"),
        ("The outputs are as asked.\n\nOverall verdict: **right**", "right"),
        ("<think>wrong\nwrong</think>\nright", "right"),
        ("Verdict: incorrect, NaN is paired with NaN", "wrong"),
        ("My judgement is: not right", "wrong"),
        ("Conclusion: cannot tell", "unsure"),
        ("t1: right\nt2: right\nt3: right", "right"),
        ("t1: right\nt2: unsure", "unsure"),
        ("t1: right\nt2: wrong\nright", "unsure"),
        ("t1: right\nt2: wrong\n```\nwrong\n```", "wrong"),
        ("wrong\n\nright", "unsure"),
        ("t1: right\nt2: right\nWrong: the ties are lost.", "wrong"),
        ("t1: right\nWrong values are dropped as asked.", "right"),
        ("Overall, correct except for ties.", "unsure"),
        ("Verdict: right only if sorted; here it is not.", "unsure"),
        ("t1: right\nt2: right\nVerdict: right, but not for ties", "unsure"),
        ("t1: wrong, off by one\n\nwrong\n\nCorrect:\n```python\n" + PROGRAM + "\n```", "wrong"),
        ('{"verdict": "right", "tests": {"t1": "wrong", "t2": "right"}}', "unsure"),
        ('{"verdict": "partially correct"}', "unsure"),
        ('{"verdict": "wrong", "tests": [{"test": "t2", "verdict": "wrong", "reason": "too few"}]}', "wrong"),
        ("right\n```python\n" + PROGRAM + "\n```", "right"),
        ("```python\n" + PROGRAM + "\n```", "wrong"),
    ],
)
def test_verdicts_are_read_in_many_forms(text, ruling):
    assert verdict(text)[0] == ruling


def test_each_input_has_a_line_and_deciding_reason():
    text = "- **t1**: right, as asked.\n- t2: WRONG — it pairs NaN with NaN.\n- t9: wrong\n\n**wrong**"
    judgement, _ = parse_judgement(text, IDS)
    assert [(item.input, item.ruling) for item in judgement.opinions] == [("t1", "right"), ("t2", "wrong")]
    assert judgement.reason == "it pairs NaN with NaN."


@pytest.mark.parametrize(
    ("text", "opinions"),
    [
        ("### t1\nWrong: the mean shown is 4.\nCorrect is 5.\n### t2\nright", {"t1": "wrong", "t2": "right"}),
        ("t1: wrong, 4 is shown\nt1: right\nt2: right", {"t1": "wrong", "t2": "right"}),
        ("t1: correct output would be 3 but 4 is shown\nt2: right", {"t1": "unsure", "t2": "right"}),
        ("t1: right, except for ties\nt2: right (an empty list)", {"t1": "unsure", "t2": "right"}),
        ("t1: right as it stands\nt2: right, it should be 3", {"t1": "right", "t2": "unsure"}),
        ("t1: right-hand sides are lost\nt2: right - the NaN does not count", {"t1": "unsure", "t2": "right"}),
        ("t1: right\nt2: not quite right, misses 3", {"t1": "right"}),
        ("| t1 | right | |\n|---|---|---|\n| t2 | wrong | gives 4 |", {"t1": "right", "t2": "wrong"}),
        ("t1: right\nt2: wrong\nt3: right\n```\nwrong\n```", {"t1": "right", "t2": "wrong", "t3": "right"}),
    ],
)
def test_only_a_plain_right_counts_as_right(text, opinions):
    assert verdict(text)[1] == opinions


def test_the_reason_for_a_contradictory_reply_is_given():
    judgement, _ = parse_judgement("t1: right\nt2: wrong\nVerdict: right, as asked", IDS)
    assert judgement.reason.startswith("the whole is judged right")
    assert parse_judgement("wrong\nright", IDS)[0].reason == "different verdicts are given"


def test_a_verdict_in_a_fence_is_no_program():
    assert verdict("t1: wrong\n```\nwrong\n```")[2] is None


@pytest.mark.parametrize("end", ["", "\n### Verdict\nwrong", "\nVerdict: wrong", "\n**Verdict**\n\n**wrong**"])
def test_a_verdict_below_a_heading_concerns_that_input(end):
    text = f"### t1: numbers alone\nwrong, a column is missing\n\n### t2\n\nright{end}"
    assert verdict(text) == ("wrong", {"t1": "wrong", "t2": "right"}, None)


def test_the_corrected_program_is_the_whole_one():
    text = f"t1: wrong, see\n```python\nreturn x\n```\nwrong\n```python\n{PROGRAM}\n```\nwhich gives\n```\n2\n```"
    assert verdict(text) == ("wrong", {"t1": "wrong"}, PROGRAM)


def test_a_verdict_in_what_was_quoted_is_none():
    assert verdict(f"```\nright\n```\nt1: wrong: no\n```python\n{PROGRAM}\n```\nwrong")[0] == "wrong"


def test_a_program_needs_a_verdict_of_wrong():
    fence = f"```python\n{PROGRAM}\n```"
    assert verdict(f"right\n{fence}")[2] is None
    assert verdict(f"unsure\n{fence}")[2] is None
    assert verdict(f"wrong\n{fence}")[2] == PROGRAM
    assert verdict("wrong")[2] is None


@pytest.mark.parametrize("text", ["", "I like it.", "It may be right or wrong.", "t9: right", "```text\nright\n```"])
def test_what_says_nothing_is_refused(text):
    with pytest.raises(ReplyError):
        parse_judgement(text, IDS)
