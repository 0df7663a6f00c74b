import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.prompting.lookup_notation import parse_code_without_calls, pending_calls
from exploracoder_jupyter.pipeline.prompting.replies import (
    PlannersReply,
    PlanReply,
    RecommendGlobalReply,
    RevisingReply,
    parse_code,
    parse_json,
)
from exploracoder_jupyter.text.replies import without_thinking

FORMS = [PlanReply, PlannersReply, RevisingReply, RecommendGlobalReply]


@pytest.mark.parametrize("opening", ["[", '{"a":', "("])
def test_bottomless_nesting_is_a_reply_error(opening):
    with pytest.raises(ReplyError):
        parse_json(opening * 20_000, PlanReply)
    with pytest.raises(ReplyError):
        parse_code("x = " + "(" * 20_000)


def test_a_failing_repair_tool_is_a_reply_error():
    with pytest.raises(ReplyError):
        parse_json("{ '```json\n[x=1x=1 ':```\"```1. >>> ", PlannersReply)


TITLES = st.lists(st.from_regex(r"[A-Za-z][A-Za-z ,\[\]{}']{0,30}[a-z]", fullmatch=True), min_size=1, max_size=6)
WRAPPERS = st.sampled_from(
    ["{}", "```json\n{}\n```", "Sure, here it is:\n{}\nGood luck!", "```\n{}", "<think>[1]</think>{}"]
)


@given(TITLES, WRAPPERS)
def test_a_json_plan_is_found_in_anything(titles, wrapper):
    text = wrapper.replace("{}", json.dumps({"subtasks": titles}))
    assert parse_json(text, PlanReply).subtasks == titles


PLAN = ["Make a graph", "Draw it"]


@pytest.mark.parametrize(
    "text",
    [
        '{"subtasks": ["Make a graph", "Draw it",]}',
        "{'subtasks': ['Make a graph', 'Draw it']}",
        '{"subtasks": ["Make a graph", "Draw it"',
        '["Make a graph", "Draw it"]',
        '{"steps": [{"step": 1, "title": "Make a graph"}, {"step": 2, "title": "Draw it"}]}',
        '[{"step1": "Make a graph"}, {"step2": "Draw it"}]',
        '{"title": "Make a graph"}, {"title": "Draw it"}',
        '{"subtasks": "1. Make a graph\\n2. Draw it"}',
        '{"subtasks": {"1": "Make a graph", "2": "Draw it"}}',
        '{"subtasks": [null, "Make a graph", "", "Draw it"], "note": null}',
        'With [networkx] I would: {"subtasks": ["Make a graph", "Draw it"]}',
        'With [networkx] I would: {"subtasks": ["Make a graph", "Draw it",]}',
        "1. Make a graph\n2. Draw it",
        "Here is the plan:\n\n1) Make a graph\n   - with nodes\n\n2) Draw it\n\nThat is all.",
        "1. Make a graph\n   1. with nodes\n   2. with edges\n2. Draw it",
        "**1. Make a graph**\n**2. Draw it**",
        "* **Make a graph**\n* Draw it",
        "```\n1. Make a graph\n2. Draw it\n```",
        '```json\n{"subtasks": ["Make a graph", "Draw it"]}',
        '<think>{"subtasks": ["no"]}</think>{"subtasks": ["Make a graph", "Draw it"]}',
        "I think {braces} help.\n1. Make a graph\n2. Draw it",
    ],
)
def test_a_plan_is_read_in_every_usual_disguise(text):
    assert parse_json(text, PlanReply).subtasks == PLAN


def test_a_number_at_a_line_start_is_text():
    with pytest.raises(ReplyError):
        parse_json("2.5 times\n1.5 more", PlanReply)


def test_items_of_a_numbered_plan_may_hold_brackets():
    text = "1. Make a graph with edges [(1, 2)]\n2. Print {its nodes}"
    assert parse_json(text, PlanReply).subtasks == ["Make a graph with edges [(1, 2)]", "Print {its nodes}"]
    assert parse_json('1. Choose from ["a", "b"]', PlanReply).subtasks == ['Choose from ["a", "b"]']


@pytest.mark.parametrize("text", ["", "I cannot do that.", "[]", "<think>1. Make a graph", "null"])
def test_what_holds_no_plan_is_a_reply_error(text):
    with pytest.raises(ReplyError):
        parse_json(text, PlanReply)


def test_apis_are_paths_however_they_are_written():
    reply = parse_json(
        '{"apis": ["`a.b`", "a.c(x, y)", "1. a.d - useful", {"path": "a.e"}, "a.f: yes", ""]}', RevisingReply
    )
    assert reply.apis == ["a.b", "a.c", "a.d", "a.e", "a.f"]


@pytest.mark.parametrize("end", ["]}", "]", '], "reason": "it was'])
def test_a_cut_off_recommendation_keeps_its_fields(end):
    text = '{"apis": ["a.b"], "satisfied": "true", "extra": null, "remaining": [{"title": "Draw"}'
    reply = parse_json(text + end, RevisingReply)
    assert (reply.apis, reply.satisfied, reply.remaining) == (["a.b"], True, ["Draw"])


def test_a_recommendation_without_remaining_keeps_the_plan():
    assert parse_json('{"apis": [], "remaining": null}', RevisingReply).remaining is None
    assert parse_json('{"apis": []}', RevisingReply).remaining is None


@pytest.mark.parametrize(
    "unchanged",
    ["[]", '""', '"null"', '"None."', '["none"]', '"no change"', '"No change needed."', '"No changes are needed"'],
)
def test_nothing_for_remaining_subtasks_keeps_the_plan(unchanged):
    assert parse_json(f'{{"apis": [], "remaining": {unchanged}}}', RevisingReply).remaining is None
    assert parse_json('{"apis": [], "remaining": ["None of the rows stay"]}', RevisingReply).remaining


@pytest.mark.parametrize("form", FORMS)
def test_the_schemas_ask_for_what_is_read(form):
    schema = form.model_json_schema()
    assert schema["type"] == "object" and schema["properties"].keys() == form.model_fields.keys()
    for name in ("subtasks", "apis"):
        assert schema["properties"].get(name, {"items": {"type": "string"}})["items"] == {"type": "string"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("```Python title=a\r\nx = 1\r\n```", "x = 1"),
        ("Sure!\n```\nx = 1\n```\nThis sets x.", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("x = '\\d' is 1", "x = '\\d' is 1"),
        ("```python\nx = 1\n```\nthen\n```python\ny = 2\n```", "x = 1\ny = 2"),
        ("```bash\npip install a\n```\n```python\nx = 1\n```\nprints\n```\n1\n```", "x = 1"),
        ("```\nx = 1\n```\nprints\n```\nTraceback (most recent\n```", "x = 1"),
        ("```text\nx = 1\n```", "x = 1"),
        ("```python\nx = = 1\n```", "x = = 1"),
        ("1. Do it:\n   ```python\n   if x:\n       y = 2\n   ```", "if x:\n    y = 2"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''"),
        ("```python\n>>> x = [1,\n...      2]\n>>> x\n[1, 2]\n```", "x = [1,\n     2]\nx"),
        (">>> x = 1\n>>> x\n1", "x = 1\nx"),
        ("<think>\n```python\nno\n```\n</think>\n```python\nx = 1\n```", "x = 1"),
        ("```python\ntag = '<think>'\n```", "tag = '<think>'"),
        ("```python\nimport re\nre.match('\\d', x) is 1\n```", "import re\nre.match('\\d', x) is 1"),
    ],
)
def test_code_is_read_in_every_usual_disguise(text, code):
    assert parse_code(text) == code


def test_surrogate_pairs_are_joined_and_others_replaced():
    assert parse_code("x = '\ud83d\ude00 \ud800'") == "x = '\U0001f600 \ufffd'"
    reply = parse_json(r'{"apis": [], "reason": "\ud800", "remaining": ["a \ud83d\ude00 \udc00"]}', RevisingReply)
    assert (reply.reason, reply.remaining) == ("\ufffd", ["a \U0001f600 \ufffd"])


@pytest.mark.parametrize(
    "text", ["", "  \n", "I am sorry.", "```python\n```", "```bash\nls -l | wc\n```", "<think>x = 1", "```\n\n```"]
)
def test_what_holds_no_code_is_a_reply_error(text):
    with pytest.raises(ReplyError):
        parse_code(text)


def test_only_opening_thoughts_are_removed():
    assert without_thinking("<think>a</think>b") == "b"
    assert without_thinking("a</think>b") == "b"
    assert without_thinking("print('<think>')  # </think>") == "print('<think>')  # </think>"


def test_emphasis_goes_and_code_stays():
    titles = ["compute `x**3 + 2*x`", "evaluate x**3 and f(**kwargs), g(**kw)", "**Load** the __init__ of __it__"]
    reply = parse_json(json.dumps({"subtasks": titles}), PlanReply)
    assert reply.subtasks == [titles[0], titles[1], "Load the __init__ of __it__"]


HOSTILE = {
    "open brackets": "[" * 100_000,
    "open objects": "[{" * 50_000,
    "open strings": '[{"' * 33_000,
    "balanced": "[" * 50_000 + "]" * 50_000,
    "quotes": '{"' + '"' * 100_000,
    "half emphasis": "- " + "**a " * 25_000,
    "one long fence": "~" * 100_000,
    "calls without end": "<function=search_api>" * 5_000,
    "parameters without end": "<function=search_api>" + "<parameter=a>" * 8_000 + "</function>",
    "a deep expression": "x = " + "(" * 100_000,
    "a long expression": "x = 1" + " + 1" * 25_000,
    "many steps": "1. a\n" * 20_000,
    "closing fences": "```python\nx = (\n" + "```\n" * 25_000,
    "opening fences": "```python\n" * 10_000,
    "fences behind code": "```python\nx = (\n" + "x = 1```\n" * 11_000,
    "ends of thoughts": "a</think>\n" * 10_000,
    "thoughts": "a\n<think>b</think>\n" * 5_000,
    "thoughts without end": "a\n<think>\n" * 10_000,
    "ends of turns": "<|im_end|>" * 10_000,
    "beginnings": "<s>" * 33_000,
    "closed thoughts": "<think></think>" * 7_000,
    "ends of thoughts between blocks": "```\n```\n</think>\n" * 6_000,
    "ends of thoughts without text": "a" + "</think>" * 12_000,
    "ends of turns before a text": "a\n" + "</s>" * 25_000 + "x",
    "ends of turns behind code": "x = (<|im_end|>\n" * 7_000,
    "turns in a fence": "```python\nx = (\n" + "</s>\n" * 20_000,
    "channels": "<|channel|>analysis<|message|>a" * 3_500,
    "elements without end": "<code>" * 16_000,
    "elements": "<code>x</code>" * 7_000,
    "objects": '{"code": "("}' * 8_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_long_replies_are_read_quickly(text):
    """Issue 14, item 8: the time to read a reply does not grow with the square of its brackets."""
    began = time.process_time()
    for read in (lambda text: parse_json(text, PlanReply), parse_code, parse_code_without_calls, pending_calls):
        with suppress(ReplyError):
            read(text)
    assert time.process_time() - began < 10
