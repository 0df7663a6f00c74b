"""Outputs are collected within a budget, and what a model is shown says what is missing."""

import json
from dataclasses import asdict

import pytest

from exploracoder_jupyter.core.types import Change
from exploracoder_jupyter.kernels.messages import (
    LLM_MIME,
    SCHEMA_MIME,
    cut_middle,
    schema_text,
    short_traceback,
    shown_text,
)
from exploracoder_jupyter.kernels.output_collector import CELL_MIME, OutputCollector


def stream(text, name="stdout"):
    return {"name": name, "text": text}


def collect(*messages, budget=1000):
    collector = OutputCollector(budget)
    for kind, content in messages:
        collector.add(kind, content)
    return collector


def test_neighbouring_streams_are_joined_and_others_kept_apart():
    collector = collect(
        ("stream", stream("a\n")),
        ("stream", stream("b\n")),
        ("stream", stream("w\n", "stderr")),
        ("stream", stream("c")),
    )
    assert [output["text"] for output in collector.outputs()] == ["a\nb\n", "w\n", "c"]


def test_head_and_tail_are_kept():
    collector = collect(*(("stream", stream(f"{number:04}")) for number in range(1000)), budget=80)
    text = "".join(output["text"] for output in collector.outputs())
    assert text.startswith("0000000100020003")
    assert text.endswith("099709980999")
    assert collector.cut == 4000 - 80
    assert "3,920 characters" in text


@pytest.mark.parametrize("sizes", [(500,), (30, 500), (10, 10, 500, 10), (81,), (40, 41)])
def test_what_is_kept_and_cut_adds_up(sizes):
    collector = collect(*(("stream", stream("x" * size)) for size in sizes), budget=80)
    kept = sum(output["text"].count("x") for output in collector.outputs())
    assert kept == 80
    assert kept + collector.cut == sum(sizes)


def test_what_the_sibling_cut_itself_is_counted():
    collector = collect(("stream", {**stream("x"), "cut": 5_000_000}))
    assert "5,000,000 characters" in collector.outputs()[1]["text"]


def test_a_flood_is_distinguished_from_much_output():
    assert not collect(("stream", stream("x" * 15_000))).flooded
    assert collect(("stream", stream("x" * 17_000))).flooded


def test_results_lose_numbers_and_displays_update():
    shown = {"data": {"text/plain": "old"}, "metadata": {}, "transient": {"display_id": "d"}}
    collector = collect(
        ("display_data", shown),
        ("execute_result", {"data": {"text/plain": "1"}, "metadata": {}, "execution_count": 7}),
        ("update_display_data", {**shown, "data": {"text/plain": "new"}}),
    )
    assert collector.outputs() == (
        {"output_type": "display_data", "data": {"text/plain": "new"}, "metadata": {}},
        {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": None},
    )


def test_clearing_waits_for_the_next_output_on_request():
    collector = collect(("stream", stream("a")), ("clear_output", {"wait": True}))
    assert [output["text"] for output in collector.outputs()] == ["a"]
    collector.add("stream", stream("b"))
    assert [output["text"] for output in collector.outputs()] == ["b"]
    collector.add("clear_output", {"wait": False})
    assert collector.outputs() == ()


CHANGES = [
    Change("G", "new", "networkx.Graph", "3 nodes: 'a'", "3 nodes"),
    Change("df", "mutated", "pandas.DataFrame", "4 x 2", "", "3 x 2"),
]
DID = {
    "changes": [asdict(change) for change in CHANGES],
    "warnings": ["FutureWarning: use\n  len"],
    "logs": ["\x1b[31mlib: slow\x1b[0m"],
    "files": ["out/a.csv"],
    "memory": 7_000_000,
    "failure": {"report": "KeyError: 'x'", "schema": "KeyError", "nearest": ["y"]},
}


def test_reports_of_a_cell_leave_the_outputs():
    collector = collect(("display_data", {"data": {CELL_MIME: DID}}))
    assert collector.outputs() == ()
    did = collector.outcome
    assert did.changes == tuple(CHANGES)
    assert did.names == (("G", "networkx.Graph"),)
    assert (did.warnings, did.logs, did.files) == (("FutureWarning: use len",), ("lib: slow",), ("out/a.csv",))
    assert did.memory == 7_000_000
    assert did.failure == ("KeyError: 'x'", "KeyError", ("y",))


ODD = [None, 3, "text", [], [[]], {"name": 1}, {"name": "x"}, float("nan"), True, -1, {"how": ["new"], "name": "x"}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("key", [None, *DID])
def test_malformed_parts_are_left_out(key, odd):
    sent = odd if key is None else {**DID, key: odd}
    collector = collect(("display_data", {"data": {CELL_MIME: sent}}), ("stream", stream("x")))
    did = collector.outcome
    assert [output["text"] for output in collector.outputs()] == ["x"]
    assert did.changes == () if key in (None, "changes") else did.names == (("G", "networkx.Graph"),)
    assert did.files == () if key in (None, "files") else did.files == ("out/a.csv",)


def test_widgets_and_unknown_messages_are_no_outputs():
    assert collect(("comm_open", {"comm_id": "1"}), ("status", {"execution_state": "busy"})).outputs() == ()


def rich(data, metadata=None, **more):
    return {"data": data, "metadata": metadata or {}, **more}


SHOWN = {"transient": {"display_id": "d"}}
LONG = {
    "a number of values": ("display_data", rich({"application/json": list(range(100_000))})),
    "an image": ("execute_result", rich({"image/png": "i" * 500_000})),
    "metadata": ("display_data", rich({"text/plain": "x"}, {"notes": ["n" * 500_000]})),
    "a name": ("error", {"ename": "E" * 500_000, "evalue": "", "traceback": []}),
    "a message": ("error", {"ename": "E", "evalue": "m" * 500_000, "traceback": []}),
    "a line": ("error", {"ename": "E", "evalue": "", "traceback": ["t" * 500_000]}),
    "lines": ("error", {"ename": "E", "evalue": "", "traceback": ["t" * 10] * 50_000}),
    "an update": ("update_display_data", rich({"text/html": "h" * 500_000}, **SHOWN)),
    "changes": (
        "display_data",
        rich({CELL_MIME: {"changes": [dict.fromkeys(DID["changes"][0], "n" * 9000) | {"how": "new"}] * 1000}}),
    ),
    "failure": (
        "display_data",
        rich(
            {CELL_MIME: {"failure": {"report": "r" * 500_000, "schema": "s" * 500_000, "nearest": ["n" * 900] * 900}}}
        ),
    ),
    "lines of text": (
        "display_data",
        rich({CELL_MIME: dict.fromkeys(["warnings", "logs", "files"], ["l" * 9000] * 9000)}),
    ),
}


@pytest.mark.parametrize("message", LONG.values(), ids=LONG)
def test_no_message_exceeds_the_budget_much(message):
    collector = collect(("display_data", rich({"text/plain": "x"}, **SHOWN)), message)
    kept = json.dumps([collector.outputs(), asdict(collector.outcome)])
    assert len(kept) < 100_000
    assert len(str(collector.error)) < 5_000


def test_many_updates_together_are_bounded():
    collector = OutputCollector(1000)
    for number in range(100):
        collector.add("display_data", rich({"text/plain": ""}, transient={"display_id": str(number)}))
    for number in range(100):
        collector.add("update_display_data", rich({"text/html": "h" * 3000}, transient={"display_id": str(number)}))
    assert len(json.dumps(collector.outputs())) < 20_000


def test_a_large_image_is_kept_or_noted():
    collector = collect(("display_data", rich({"image/png": "i" * 3000})), budget=1000)
    assert len(collector.outputs()[0]["data"]["image/png"]) == 3000
    collector.add("display_data", rich({"image/png": "i" * 500_000}))
    assert "output of 500," in collector.outputs()[-1]["data"]["text/plain"]
    assert collector.cut > 500_000


TRACEBACK = [
    "\x1b[31m---------\x1b[39m",
    "\x1b[31mKeyError\x1b[39m                                  Traceback (most recent call last)",
    "\x1b[36mCell In[1], line 2\x1b[39m\n      1 import lib\n----> 2 lib.f()",
    "File /site-packages/lib/a.py:1, in f()\n----> 1 g()",
    "File /site-packages/lib/b.py:1, in g()\n----> 1 h()",
    "File /site-packages/lib/c.py:9, in h()\n----> 9 {}['x']",
    "\x1b[31mKeyError\x1b[39m: 'x'",
]


def test_a_traceback_keeps_user_code():
    assert short_traceback(TRACEBACK).splitlines() == [
        "KeyError (most recent call last)",
        "Cell In[1], line 2",
        "      1 import lib",
        "----> 2 lib.f()",
        "... 2 frames of libraries ...",
        "File /site-packages/lib/c.py:9, in h()",
        "----> 9 {}['x']",
        "KeyError: 'x'",
    ]


def test_an_error_is_collected_whole_and_summarized():
    collector = collect(("error", {"ename": "KeyError", "evalue": "\x1b[1m'x'\x1b[0m", "traceback": TRACEBACK}))
    assert collector.outputs()[0]["traceback"] == TRACEBACK
    assert (collector.error.name, collector.error.message) == ("KeyError", "'x'")


def test_the_text_prefers_what_is_meant_for_models():
    collector = collect(
        ("stream", stream("10%\r50%\r100%\ndone\n")),
        ("execute_result", {"data": {"text/plain": "<frame>", "text/llm+plain": "frame 3x4"}, "metadata": {}}),
        ("display_data", {"data": {"image/png": "aGk="}, "metadata": {}}),
    )
    assert shown_text(collector.outputs()) == "100%\ndone\nframe 3x4"


def test_the_schema_has_amounts_without_values():
    collector = collect(
        ("stream", stream("patient 4711\nill\n")),
        ("execute_result", {"data": {"text/plain": "4711", SCHEMA_MIME: "frame 3x4"}, "metadata": {}}),
        ("display_data", {"data": {"text/plain": "4711", "text/llm+plain": "4711"}, "metadata": {}}),
        ("stream", stream("\n")),
    )
    assert schema_text(collector.outputs()) == "[printed 16 characters in 2 lines]\nframe 3x4"


def test_a_long_text_says_what_is_omitted():
    text = cut_middle("a" * 600 + "b" * 900, 100)
    assert text == "a" * 60 + "\n[... 1,400 characters left out ...]\n" + "b" * 40


def summary_and_plain(summary, plain):
    return [{"output_type": "display_data", "data": {LLM_MIME: summary, "text/plain": plain}, "metadata": {}}]


@pytest.mark.parametrize(
    ("summary", "plain"),
    [
        ("Rate: 1 attribute", "Rate(12.5 %)"),
        ("numpy.ndarray: 2 to 12345.7", "array([2, 12345.678912])"),
        ("Rate: 12345.7", "12345.68"),
        ("Rate: 5", "Rate -5"),
    ],
)
def test_a_short_informative_text_joins_the_summary(summary, plain):
    assert shown_text(summary_and_plain(summary, plain)) == f"{summary}\n{plain}"


@pytest.mark.parametrize(
    ("summary", "plain"),
    [
        (
            "pandas.DataFrame: 2 rows\n  all rows:\n    a | b\n    0.333333333333 | x\n    1 | y",
            "     a  b\n0  0.333333  x\n1  1.000000  y",
        ),
        ("numpy.ndarray: all: [1, -2] of int64", "array([1, -2])"),
        ("builtins.object: ", "<object object at 0x7f01>"),
        ("Own: told by itself", "<__main__.Own at 0x7f01>"),
        ("matplotlib.figure.Figure: 1 axes", "<Figure size 640x480 with 1 Axes>"),
        ("list: 9 items", "x" * 401),
    ],
)
def test_a_long_or_repeating_text_does_not(summary, plain):
    assert shown_text(summary_and_plain(summary, plain)) == summary
