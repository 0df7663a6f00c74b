"""Look-ups within the text of a reply: which are seen, which wait for an answer, and the code without them."""

import ast
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.types import Call, Task
from exploracoder_jupyter.pipeline.prompting.lookup_notation import (
    parse_argument,
    parse_calls,
    parse_code_without_calls,
    pending_calls,
    write_call,
)
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import SolveInputs
from exploracoder_jupyter.pipeline.prompting.requests import render
from exploracoder_jupyter.pipeline.retrieval.lookups import TOOLS

QUERY = st.text(string.ascii_letters + string.digits + " .,_()'=-", min_size=1, max_size=60).filter(
    lambda text: any(letter.isalpha() for letter in text) and "->" not in text and text[0].isalpha()
)
LINE = st.sampled_from(["x = 1", "print(x)", "", "# APISearch(a)", "y = 'APISearch(b)'", "if x:\n    y = 2"])


def searches(*queries):
    return tuple(Call("search_api", query) for query in queries)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("APISearch(merge two tables)", ["merge two tables"]),
        ("I am not sure.\n\n  APISearch(merge two tables) ->  \n", ["merge two tables"]),
        ("<API>APISearch(merge two tables)→</API>", ["merge two tables"]),
        ('`APISearch("merge (inner)")`', ["merge (inner)"]),
        ("APISearch(a)\r\nAPISearch(b)\r\n", ["a", "b"]),
        ("APISearch(APISearch(inner))", ["inner"]),
        ("<think>APISearch(no)</think>APISearch(yes)", ["yes"]),
        ('<tool_call>\n{"name": "search_api", "arguments": {"query": "merge"}}\n</tool_call>', ["merge"]),
        ('Let me see.\n<tool_call>{"name": "search_api", "arguments": "{\\"query\\": \\"merge\\"}"}', ["merge"]),
        ('{"name": "search_api", "parameters": {"query": "merge"}}', ["merge"]),
        ('```json\n{"function": {"name": "search_api", "arguments": {"query": "merge"}}}\n```', ["merge"]),
        ('[TOOL_CALLS][{"name": "search_api", "arguments": {"query": "merge"}}]', ["merge"]),
        ("<tool_call><function=search_api><parameter=query>merge</parameter></function></tool_call>", ["merge"]),
        (f"{'<tool_call>' * 600}<function=search_api><parameter=query>merge</parameter></function>", ["merge"]),
        ("x = APISearch(a)", []),
        ("APISearch()", []),
        ("Use `APISearch(a)` for that.", []),
        ('{"name": "delete_files", "arguments": {"query": "merge"}}', []),
        ('<tool_call>{"name": "search_api", "arguments": {}}</tool_call>', []),
    ],
)
def test_look_ups_are_seen_in_every_form(text, queries):
    assert pending_calls(text) == searches(*queries)


def test_other_tools_are_named_in_the_text_too():
    text = '<tool_call>{"name": "get_source", "arguments": {"path": "pandas.merge"}}</tool_call>'
    assert pending_calls(text) == (Call("get_source", "pandas.merge"),)


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("APISearch(a)\n```python\nx = 1\n```", False),
        ("APISearch(a) -> b\n\nx = 1", False),
        ("```python\nx = 1\nAPISearch(a)\ny = 2\n```", False),
        ("```python\nx = 1\n```\nAPISearch(a)", True),
        ("```python\nx = 1\nAPISearch(a)\n```", True),
        ("APISearch(a)\nThen I shall go on.", True),
        ("```python\nx = (\nAPISearch(a b)\n```\nso far.", True),
    ],
)
def test_complete_code_waits_only_for_a_final_lookup(text, waits):
    assert bool(pending_calls(text)) is waits


def test_look_ups_are_taken_out_of_the_code():
    assert parse_code_without_calls("```python\nx = 1\nAPISearch(what next) ->\ny = 2\n```") == "x = 1\ny = 2"
    assert parse_code_without_calls("x = 1\nAPISearch(what next)\ny = 2") == "x = 1\ny = 2"
    assert parse_code_without_calls("x = 1") == "x = 1"
    with pytest.raises(ReplyError, match="no valid Python without"):
        parse_code_without_calls("```python\nfor x in y:\n    APISearch(what next)\n```")
    with pytest.raises(ReplyError):
        parse_code_without_calls("APISearch(what next)")


@given(st.lists(st.tuples(LINE, st.none() | QUERY), max_size=8))
def test_removing_lookups_leaves_the_rest(parts):
    text = "x = 0\n" + "".join(f"{line}\n" + (f"APISearch({query})\n" if query else "") for line, query in parts)
    code = "x = 0\n" + "".join(f"{line}\n" for line, _ in parts)
    ast.parse(code)
    assert parse_calls(text).rest == code
    assert len(parse_calls(text).calls) == sum(query is not None for _, query in parts)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"query": "a"}, "a"),
        ('{"path": "m.f"}', "m.f"),
        ('{"path": "m.f"', "m.f"),
        ("m.f", "m.f"),
        ('"m.f"', "m.f"),
        (["a", "b"], "a"),
        ({"n": 3, "q": " a "}, "a"),
        ({}, ""),
        (None, ""),
        (3, ""),
    ],
)
def test_the_argument_of_a_tool_is_one_text(given, text):
    assert parse_argument(given) == text


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_each_tool_has_a_form_in_text(tool):
    line = write_call(Call(tool, "beans.Jar"))
    assert pending_calls(f"I am not sure.\n{line}") == (Call(tool, "beans.Jar"),)
    inputs = SolveInputs(Task("Fill the jar", ("beans",)), (), (), lookups=2)
    assert line.partition("(")[0] in render("solve", inputs)[1].content
