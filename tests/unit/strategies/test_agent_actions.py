"""The replies of an agent: which action they name in whatever form, and what is wrong with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.strategies.agents import ACTIONS, parse_action

CODE = "import math\nprint(math.sqrt(16))"


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("Thought: what is there?\nAction: search: square root", "search", "square root"),
        ("Action: Search[square root]", "search", "square root"),
        ("**Thought:** hm\n**Action:** search(square root)", "search", "square root"),
        ("- Action: `look_up`: `math.sqrt`", "look_up", "math.sqrt"),
        ("<think>Action: finish</think>Action: look_up: math.sqrt", "look_up", "math.sqrt"),
        ("Action: search: root (of a number)", "search", "root (of a number)"),
        (f"Thought: try\nAction: run\n```python\n{CODE}\n```", "run", CODE),
        (f"Action: run\n{CODE}", "run", CODE),
        (f"Action: run\n{CODE}\nObservation: 4.0\nAction: finish", "run", CODE),
        (f"Action 3: finish\nAction: run\n```\n{CODE}\n```\nResult: 4.0", "run", CODE),
        ("Thought: done\nAction: finish\n```python\n1\n```", "finish", ""),
        ("Action: search: first\nObservation: made up\nAction: finish", "search", "first"),
    ],
)
def test_the_first_action_of_a_reply_counts(text, name, argument):
    action = parse_action(text)
    assert (action.name, action.argument, action.problem) == (name, argument, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am not sure.",
        f"```python\n{CODE}\n```",
        "Action: dance: now",
        "Action:",
        "Action: search",
        "Action: look_up: ``",
        "Action: run",
        "Action: run\nsome words about it",
        f"Action: run\nObservation: it ran\n```python\n{CODE}\n```",
    ],
)
def test_a_malformed_action_has_a_problem(text):
    assert parse_action(text).problem


def test_the_thought_is_one_unlabelled_line():
    text = "Path: start, search\nThought: The root\nis missing.\nAction: search: root"
    assert parse_action(text).thought == "The root is missing."


@given(st.text())
def test_any_text_is_read(text):
    action = parse_action(f"Action: {text}")
    assert action.problem or action.name in ACTIONS
