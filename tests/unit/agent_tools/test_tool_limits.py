"""Answers fit into the size that the caller allows, and stay readable JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.agent_tools.tool_limits import check_label, check_number, check_text, fitting_json
from exploracoder_jupyter.core.errors import UsageError


def test_an_answer_that_fits_is_not_changed():
    answer = {"text": "é" * 100, "rows": [1, None, {"a": True}]}
    assert json.loads(fitting_json(answer, 200)) == answer


def test_long_texts_are_cut_before_items_are():
    answer = {"rows": [{"label": str(number), "shows": "word " * 4_000} for number in range(8)]}
    text = fitting_json(answer, 2_000)
    rows = json.loads(text)["rows"]
    assert len(text) <= 8_000 and [row["label"] for row in rows] == [str(number) for number in range(8)]
    assert all("left out" in row["shows"] for row in rows)


def test_items_are_dropped_where_cutting_does_not_suffice():
    text = fitting_json({"rows": [{"path": f"library.name{number}"} for number in range(1_000)]}, 300)
    answer = json.loads(text)
    assert len(text) <= 1_200 and answer["rows"][0] == {"path": "library.name0"}
    assert answer["cut"].startswith(f"{1_000 - len(answer['rows'])} more left out")


@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=30))
def test_any_answer_of_texts_fits(texts):
    text = fitting_json({"rows": texts}, 1_000)
    assert len(text) <= 4_000 or len(json.loads(text)["rows"]) == 1


@pytest.mark.parametrize("tokens", [0, 199, 50_001])
def test_a_limit_outside_its_limits_is_refused(tokens):
    with pytest.raises(UsageError, match="max_tokens"):
        fitting_json({}, tokens)


def test_values_that_are_not_valid_are_refused():
    for refused in (
        lambda: check_text(" \n", "query", 10),
        lambda: check_text("x" * 11, "query", 10),
        lambda: check_number(float("nan"), "timeout", 0, 1),
        lambda: check_number(2, "timeout", 0, 1),
        lambda: check_label("a/b"),
        lambda: check_label(""),
        lambda: check_label("x" * 41),
    ):
        with pytest.raises(UsageError):
            refused()
    assert check_label("by_mean-2.1+x") == "by_mean-2.1+x"
