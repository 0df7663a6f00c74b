"""From events to cells: layout, changes, and what people read."""

import json
import re

import jsonschema
import nbformat
import pytest
from markdown_it import MarkdownIt

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateSelected,
    Notice,
    PlanMade,
    ReviewAsked,
    RunFinished,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.types import Observation, Plan, Selection, Subtask, Usage, Verdict
from exploracoder_jupyter.trace import CellView, generated_metadata
from exploracoder_jupyter.trace.cells import cell_id
from exploracoder_jupyter.trace.markdown import prose
from exploracoder_jupyter.trace.metadata import schema
from tests.unit.factories import (
    RUN_ID,
    api,
    asked,
    complete_events,
    complete_run,
    failed,
    finished,
    planned,
    proposed,
    ran,
    recorded,
    started,
    states,
    stream,
)
from tests.unit.trace.views import viewed, with_role

SCHEMA = jsonschema.Draft202012Validator(schema())


def apply(cells, changes):
    """What a front end does with changes."""
    cells = list(cells)
    for change in changes:
        at = next((index for index, cell in enumerate(cells) if cell["id"] == change.id), None)
        if change.action == "remove":
            cells = [cell for cell in cells if cell["id"] != change.id]
        elif at is not None:
            cells[at] = change.cell
        else:
            ids = [cell["id"] for cell in cells]
            cells.insert(0 if change.after is None else ids.index(change.after) + 1, change.cell)
    return cells


def by_candidate(cells):
    return {found["candidate"]: cell for cell in cells if (found := generated_metadata(cell)) and "candidate" in found}


def test_changes_build_exactly_the_cells_of_the_view():
    view, cells = CellView(), []
    for state in states(complete_run()):
        cells = apply(cells, view.update(state))
        assert cells == view.cells


def test_the_cells_follow_the_calling_cell():
    view, user = CellView(anchor="mine"), [{"id": "first"}, {"id": "mine"}, {"id": "last"}]
    cells = user
    for state in states(complete_run()):
        cells = apply(cells, view.update(state))
    assert [cell["id"] for cell in cells[:2]] == ["first", "mine"]
    assert cells[-1]["id"] == "last"
    assert cells[2:-1] == view.cells


def test_the_order_of_the_cells():
    cells = viewed(complete_events())
    assert [(generated_metadata(cell)["role"], generated_metadata(cell).get("candidate", "")) for cell in cells] == [
        ("task", ""),
        ("setup", ""),
        ("plan", ""),
        ("notice", ""),
        ("subtask", ""),
        ("candidate", "1.1"),
        ("candidate", "1.2"),
        ("subtask", ""),
        ("candidate", "2.1"),
        ("candidate", "2.1r1"),
        ("notice", ""),
        ("subtask", ""),
        ("candidate", "s1"),
        ("solution", "s2"),
        ("summary", ""),
    ]


def test_candidates_are_guarded_and_solutions_plain():
    cells = viewed(complete_events())
    for id, cell in by_candidate(cells).items():
        if generated_metadata(cell)["role"] == "candidate":
            first, _, body = cell["source"].partition("\n")
            assert first == f"%%explored {id}"
            assert body.strip()
            assert {"explora-candidate", "skip-execution"} <= set(cell["metadata"]["tags"])
    [solution] = with_role(cells, "solution")
    assert solution["source"] == "print('the end')"
    assert solution["metadata"]["tags"] == ["explora-solution"]


def test_a_standalone_notebook_loads_the_magic():
    [setup] = with_role(viewed(complete_events()), "setup")
    assert setup["source"] == "%load_ext exploracoder_jupyter"
    assert setup["metadata"]["tags"] == ["skip-execution"]
    assert with_role(viewed(complete_events(), anchor="mine"), "setup") == []


def test_losers_are_collapsed_once_the_choice_is_known():
    events = complete_events()
    choice = next(index for index, event in enumerate(events) if isinstance(event, CandidateSelected))
    before, after = by_candidate(viewed(events[:choice])), by_candidate(viewed(events[: choice + 1]))
    assert "jupyter" not in before["1.1"]["metadata"]
    assert "selected" not in generated_metadata(before["1.2"])
    assert after["1.1"]["metadata"]["jupyter"] == {"source_hidden": True, "outputs_hidden": True}
    assert "jupyter" not in after["1.2"]["metadata"]
    assert (generated_metadata(after["1.1"])["selected"], generated_metadata(after["1.2"])["selected"]) == (False, True)
    assert "explora-selected" in after["1.2"]["metadata"]["tags"]


def test_failures_keep_the_error_that_was_recorded():
    cells = by_candidate(viewed(complete_events()))
    assert cells["1.1"]["outputs"][-1]["ename"] == "AttributeError"
    assert generated_metadata(cells["1.1"])["status"] == "error"
    rebuilt = cells["2.1"]["outputs"][-1]
    assert (rebuilt["ename"], rebuilt["traceback"]) == ("KeyError", ["Traceback", "KeyError: 'x'"])


def test_a_killed_candidate_says_what_killed_it():
    observation = Observation("died", note="The kernel died: out of memory.")
    events = [started(), planned("a"), proposed("1.1", "x"), CandidateObserved("1.1", observation)]
    cells = viewed(events)
    assert "out of memory" in json.dumps(by_candidate(cells)["1.1"]["outputs"])
    assert "kernel died (The kernel died: out of memory)" in with_role(cells, "subtask")[0]["source"]


def test_the_plan_has_statuses_in_words_and_cost():
    events = complete_events()
    at = next(index for index, event in enumerate(events) if isinstance(event, SubtaskStarted))
    plan = with_role(viewed(events[: at + 1]), "plan")[0]["source"]
    assert "- ▶ **1.** Load the graph (exploring)\n- ○ **2.** Count triangles (planned)" in plan
    assert (
        "Cost so far: 1 model call, 120 tokens, 0 executions. Expected in all: about 8 calls and 12,000 tokens." in plan
    )
    done = with_role(viewed(events), "plan")[0]["source"]
    assert "- ✓ **1.** Load the graph (ran)\n- ✓ **2.** Count triangles (ran)" in done
    assert "Cost: 5 model calls, 600 tokens, 9 executions, 7 s." in done


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("solved", "✓ **Solved**. The check passed."),
        ("unchecked", "◐ **Unchecked** (nothing has shown that its result is right)."),
        ("unsolved", "✗ **Unsolved** (no solution was found)."),
        ("stopped", "■ **Stopped** before the end"),
    ],
)
def test_the_summary_says_the_verdict_in_words(outcome, words):
    cells = viewed([*complete_events()[:-1], finished(outcome)])
    [summary] = with_role(cells, "summary")
    assert words in summary["source"]
    assert "| **all** | 5 | 500 | 100 | 9 | 9.0 |" in summary["source"], "the column adds up"
    assert "- Time: 7 s" in summary["source"], "as the run itself counts it"
    assert "Isolation: bubblewrap; state fresh: Windows has no fork; branching: rerun" in summary["source"]
    assert generated_metadata(summary)["status"] == outcome


def test_a_failed_solution_is_not_handed_over():
    events = [
        started(),
        planned("a"),
        proposed("s1", "1/0"),
        failed("s1", "ZeroDivisionError", "division by zero"),
        proposed("s2", "2/0"),
        failed("s2", "ZeroDivisionError", "division by zero"),
        finished("unsolved", "2/0", "s2"),
    ]
    cells = viewed(events)
    assert with_role(cells, "solution") == []
    attempts = by_candidate(cells)
    assert attempts["s1"]["metadata"]["jupyter"]["source_hidden"]
    assert "jupyter" not in attempts["s2"]["metadata"]
    assert "%%explored s2" in attempts["s2"]["source"]


def test_a_stop_hands_over_unverified_code():
    events = complete_events()
    before_solving = events[: next(i for i, event in enumerate(events) if getattr(event, "candidate", None) == "2.1r1")]
    cells = viewed([*before_solving, finished("stopped", "x = 1", "1.2", "The run was interrupted.")])
    heading, solution = cells[-3:-1]
    assert "**It was not run as a whole.**" in heading["source"]
    assert (generated_metadata(solution)["role"], solution["source"], solution["outputs"]) == ("solution", "x = 1", [])
    assert "■ **2.** Count triangles (not finished)" in with_role(cells, "plan")[0]["source"]
    SCHEMA.validate(generated_metadata(solution))


def test_what_ran_at_the_end_is_unfinished():
    events = [started(), planned("a"), SubtaskStarted("1", ()), proposed("1.1", "x"), proposed("s1", "y")]
    cells = viewed([*events, finished("stopped", None, reason="By the user.")])
    assert "running" not in "".join(cell["source"] for cell in cells)
    assert "Tried: **1.1** not finished." in with_role(cells, "subtask")[0]["source"]
    assert "Tried: **s1** not finished." in with_role(cells, "subtask")[1]["source"]
    assert {generated_metadata(cell)["status"] for cell in with_role(cells, "candidate")} == {"interrupted"}
    assert "**1.1** running" in with_role(viewed(events), "subtask")[0]["source"]


def test_only_the_traces_solution_holds_outputs():
    events = complete_events()
    assert with_role(viewed(events), "solution")[0]["outputs"] == [stream("the end\n")]
    assert with_role(viewed(events, anchor="mine"), "solution")[0]["outputs"] == []


@pytest.mark.parametrize(
    ("show", "candidates"),
    [("all", ["1.1", "1.2", "2.1", "2.1r1", "s1", "s2"]), ("selected", ["1.2", "2.1r1", "s2"]), ("none", ["s2"])],
)
def test_show_decides_which_candidates_get_cells(show, candidates):
    assert list(by_candidate(viewed(complete_events(), show=show))) == candidates


def test_live_cells_name_their_caller():
    live, trace = viewed(complete_events(), anchor="mine"), viewed(complete_events())
    assert {generated_metadata(cell)["caller"] for cell in live} == {"mine"}
    assert {cell["metadata"].get("trusted") for cell in live if cell["cell_type"] == "code"} == {True}
    assert not any("trusted" in cell["metadata"] for cell in live if cell["cell_type"] == "markdown")
    assert not any("caller" in generated_metadata(cell) or "trusted" in cell["metadata"] for cell in trace)
    nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": live})
    for cell in live:
        SCHEMA.validate(generated_metadata(cell))


EXPLORED = [
    planned("a", "b", "c"),
    SubtaskStarted("1", (api("networkx.Graph"),)),
    proposed("1.1", "x = 1"),
    proposed("1.2", "x = 2"),
    ran("1.1"),
    ran("1.2"),
    CandidateSelected(Selection("1", "1.1", ("ran",))),
    SubtaskFinished("1", "done"),
    SubtaskStarted("2", ()),
    proposed("2.1", "y = x"),
    proposed("2.2", "y = -x"),
    ran("2.1"),
]


def cells_after(*events, after=EXPLORED, show="all"):
    """The cells after these events, built by changes alone."""
    view, cells = CellView(show=show), []
    for state in states(recorded([started(), *after, *events])):
        cells = apply(cells, view.update(state))
        assert cells == view.cells
        nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
        for cell in cells:
            SCHEMA.validate(generated_metadata(cell))
    return cells


def fates(cells):
    return {
        id: (found["status"], found.get("selected"), "jupyter" in cell["metadata"])
        for id, cell in by_candidate(cells).items()
        if (found := generated_metadata(cell))
    }


def test_what_a_retry_drops_stays_folded_away():
    cells = cells_after(Steered("retry", subtask="1", hint="use *two*"))
    assert fates(cells) == {
        "1.1": ("ok", False, True),
        "1.2": ("ok", False, True),
        "2.1": ("ok", False, True),
        "2.2": ("interrupted", False, True),
    }
    plan, heading = with_role(cells, "plan")[0]["source"], with_role(cells, "subtask")[0]["source"]
    assert "▶ **1.** a (exploring)\n- ○ **2.** b (planned)\n- ○ **3.** c (planned)" in plan
    assert "*Explored again by the user: use \\*two\\**" in heading
    assert "**2.2** not finished" in with_role(cells, "subtask")[1]["source"]


def test_a_chosen_candidate_keeps_its_place():
    events = [
        Steered("choose", subtask="1", candidate="1.2"),
        ran("1.2", stream("again\n")),
        CandidateSelected(Selection("1", "1.2", ("chosen by the user",))),
        SubtaskFinished("1", "done"),
    ]
    cells = cells_after(*events)
    assert list(by_candidate(cells)) == ["1.1", "1.2", "2.1", "2.2"]
    assert (fates(cells)["1.1"], fates(cells)["1.2"]) == (("ok", False, True), ("ok", True, False))
    assert by_candidate(cells)["1.2"]["outputs"] == [stream("again\n")]
    assert list(by_candidate(cells_after(*events, show="selected"))) == ["1.2"]


def test_a_users_plan_keeps_dropped_records_in_place():
    events = [
        Steered("retry", subtask="1"),
        Steered("replan"),
        PlanMade(Plan((Subtask("1", "a"), Subtask("4", "new"), Subtask("3", "c")), 1), "changed by the user"),
    ]
    plan = with_role(cells_after(*events), "plan")[0]["source"]
    assert (
        "▶ **1.** a (exploring)\n- ↷ **2.** b (skipped): no longer planned\n"
        "- ○ **4.** new (planned)\n- ○ **3.** c (planned)\n\n*Plan revised: changed by the user*" in plan
    )


def test_a_skipped_subtask_carries_nothing_forward():
    cells = cells_after(Steered("skip", subtask="2"), SubtaskFinished("2", "skipped", "skipped by the user"))
    assert (fates(cells)["2.1"], fates(cells)["2.2"]) == (("ok", False, True), ("interrupted", False, True))
    assert "↷ **2.** b (skipped): skipped by the user" in with_role(cells, "plan")[0]["source"]


@pytest.mark.parametrize("word", [Steered("replan"), finished("stopped", None)])
def test_a_plan_under_review_says_so(word):
    waits = "**The plan is waiting for your review.**"
    assert waits in with_role(cells_after(ReviewAsked(), after=EXPLORED[:1]), "plan")[0]["source"]
    assert waits not in with_role(cells_after(ReviewAsked(), word, after=EXPLORED[:1]), "plan")[0]["source"]


def test_ids_are_reproducible_and_legal():
    assert [cell["id"] for cell in viewed(complete_events())] == [cell["id"] for cell in viewed(complete_events())]
    assert cell_id(RUN_ID, "candidate", "2.3r1") == f"explora-{RUN_ID}-candidate-2_3r1"
    odd = {cell_id(RUN_ID, "candidate", part) for part in ("2.3", "2_3", "2 3", "x" * 200, "é")}
    assert len(odd) == 5
    assert all(len(id) <= 64 and id.replace("-", "").replace("_", "").isascii() for id in odd)


def test_nothing_foreign_becomes_markup():
    evil = "# <script>x</script> **b** [l](javascript:x) `c` $\\href{x}$ | <img onerror=x>\n\n- item"
    events = [
        started(evil),
        Notice(evil),
        asked(),
        planned(evil),
        SubtaskStarted("1", (api(evil, evil, evil),)),
        proposed("1.1", "x"),
        failed("1.1", "Error", evil),
        CandidateSelected(Selection("1", "1.1", (evil,))),
        SubtaskFinished("1", "failed", evil),
        RunFinished(Verdict("unsolved", evil), None, Usage(), {}),
    ]
    for cell in viewed(events):
        if cell["cell_type"] == "markdown":
            shown = MarkdownIt("gfm-like", {"linkify": False}).render(cell["source"])
            assert not re.search(r"<(script|img|a|em)\b|<strong>b|<li>item", shown)
            assert "$" not in cell["source"]
            assert "\\href" not in cell["source"]


def test_backticks_contain_only_code():
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(prose("store `<b>x</b> *y*` and `z"))
    assert shown == "<p>store <code>&lt;b&gt;x&lt;/b&gt; *y*</code> and `z</p>\n"
