"""The result card and the text of `%explora status`: what a fold of records shows during a run and after its end."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nh3
import pytest

from exploracoder_jupyter.core import types
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateSelected,
    Estimated,
    LibraryRead,
    ModelCalled,
    Notice,
    Progress,
    Record,
    ReviewAsked,
    RunFinished,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.run_state import RunState, fold, with_failure, with_summary
from exploracoder_jupyter.core.run_state.run_wording import cost, describe, headline
from exploracoder_jupyter.ipython_extension.browser.browser_run import RunContext, run_view
from exploracoder_jupyter.ipython_extension.result_card.card import as_text, card_bundle
from exploracoder_jupyter.trace.cells import solution_outputs
from tests.unit.factories import (
    complete_events,
    failed,
    finished,
    planned,
    proposed,
    ran,
    recorded,
    shown,
    started,
    states,
    stream,
)
from tests.unit.factories import state_after as after
from tests.unit.texts import formulas

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = "</div><script>f()</script><img src=x onerror='f()'></div></div><iframe srcdoc='f()'></iframe>\"'&"
HOSTILE += "$\\style{cursor:url(//host/x),auto}{x}$ \\(\\style{cursor:url(//host/x),auto}{x}\\)"
START = started()
PLAN = planned("Make a graph", "Count <nodes>")
RUNNING = (START, PLAN, SubtaskStarted("1", ()), proposed("1.1", "x"), proposed("s1", "x"))


def final(*outputs, outcome="solved"):
    """The state after a run whose solution showed this."""
    events = [ran("s2", *outputs) if getattr(event, "candidate", "") == "s2" else event for event in complete_events()]
    *_, state = states(recorded([*events[:-1], finished(outcome)]))
    return replace(state, solution_outputs=solution_outputs(state), trace="explorations/a.ipynb")


def card(state, now=None, **options):
    options = {"hint": "", "cells": True, "in_page": True, "folder": None, **options}
    return card_bundle(state, state.now if now is None else now, **options)


def called(**usage):
    return ModelCalled(types.Exchange(1, "plan", "", "m", (), types.Sampling(), (), types.Usage(calls=1, **usage)))


class Elements(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_an_ended_card_has_verdict_solution_and_cost():
    bundle = card(final(stream("the end\n")), cells=False)
    for words in (bundle["text/plain"], nh3.clean(bundle["text/html"], tags=set())):
        assert "Solved." in words and "print('the end')" in words and "the end\n" in words.replace("6 tries", "\n")
        assert "6 tries, 3 failed" in words and "600 tokens" in words and "explorations/a.ipynb" in words
        assert "Exploring" not in words
    assert bundle["text/plain"].index("print") < bundle["text/plain"].index("6 tries")


def test_the_cells_below_are_not_repeated():
    for words in card(final(stream("the end\n"))).values():
        assert "print('the end')" not in words and "6 tries" not in words
        assert "Solved." in words and "the end" in words and "600 tokens" in words


def test_it_lists_no_tries_above_their_cells():
    state = final(stream("the end\n"))
    assert "Load the graph" not in "".join(card(state).values())
    for words in card(state, cells=False).values():
        assert "Load the graph" in words


def stored(summary, *, outcome="solved", text="Load the rain of each city into `rain`."):
    """The card of a run whose solution leaves `rain` with this summary, and two other variables."""
    others = (types.Change("other", "new", "int", "int: 3"), types.Change("city", "new", "str", "str: 'Graz'"))
    seen = CandidateObserved(
        "s1", types.Observation("ok", changes=(types.Change("rain", "new", "T", summary), *others))
    )
    chosen = CandidateSelected(types.Selection("solution", "s1", ()))
    ending = replace(finished(outcome), solution=types.Solution("rain = load()", "s1", ()))
    return card(after(started(text), proposed("s1", "rain = load()"), seen, chosen, ending))


@pytest.mark.parametrize(("outcome", "shown"), [("unchecked", True), ("solved", True), ("stopped", False)])
def test_what_the_task_stores_is_shown(outcome, shown):
    words = stored("int: 5", outcome=outcome)
    assert ("rain = 5" in words["text/plain"]) == shown
    assert ("<strong>rain</strong> = 5" in words["text/html"]) == shown
    assert "other" not in words["text/html"] and "Graz" not in words["text/html"]


def test_a_stored_table_shows_its_rows():
    rows = [f"    {place} | day {place}" for place in range(10)]
    summary = [
        "pandas.DataFrame: 10 rows x 2 columns, 1.2 kB",
        "  n: int64",
        "  all rows:",
        "    n | day",
        *rows,
        "  n: x",
    ]
    page = stored("\n".join(summary))["text/html"]
    assert "10 rows x 2 columns<" in page and "kB" not in page
    assert page.count("<tr>") == 6 and ">day 4</td>" in page and "white-space:pre" in page
    ambiguous = stored("\n".join([*summary[:4], "    1 | 'a | b'"]))["text/html"]
    assert "<table" not in ambiguous and "10 rows x 2 columns" in ambiguous


def test_cut_rows_keep_the_columns_they_have():
    rows = ["    n | day | note", "    1 | Monday...[+40 characters]", "    2 | Tuesday...[+40 characters]"]
    page = stored("\n".join(["pandas.DataFrame: 2 rows x 3 columns", "  all rows:", *rows]))["text/html"]
    assert page.count("</th>") == 2 and page.count("</td>") == 4


def test_lines_of_code_and_output_scroll():
    for cells in (True, False):
        page = card(final(stream("the end\n")), cells=cells)["text/html"]
        assert "pre-wrap" not in page and "overflow:auto" in page


def test_during_a_run_it_has_step_and_output():
    seen = CandidateObserved("2.1r1", types.Observation("ok", text="45\n"))
    events = [seen if getattr(event, "candidate", "") == "2.1r1" else event for event in complete_events()]
    moments = list(states(recorded(events)))
    state = next(state for state in reversed(moments) if state.last_observed == "2.1r1")
    for words in card(state).values():
        assert "45" in words and "2.1r1 ran" in words and state.activity in words
    failing = next(state for state in reversed(moments) if state.last_observed == "1.1")
    for words in card(failing).values():
        assert "1.1 failed: AttributeError: no" in words


def test_the_trace_is_named_relative_to_the_notebook():
    state = replace(final(), trace="/notes/explorations/a.ipynb")
    for words in card(state, folder=Path("/notes")).values():
        assert "/notes" not in words and "explorations/a.ipynb" in words
    assert "/notes/explorations" in card(state, folder=Path("/other"))["text/plain"]


def test_it_stays_the_same_while_nothing_happens():
    """Each update makes a notebook unsaved; the clock of a run is in the sidebar."""
    *_, state, _ = states(recorded(complete_events()))
    assert card(state, 1.0) == card(state, 100.0)


def test_figures_are_shown_and_long_texts_shortened():
    figure = {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure>"}, "metadata": {}}
    table = shown(text_html="<table><tr><td>a cell</td></tr></table>", text_plain="a  cell")
    page = card(final(figure, table, stream("line\n" * 500)))
    assert f'src="data:image/png;base64,{PNG}" alt="&lt;Figure&gt;"' in page["text/html"]
    assert "<td>a cell</td>" in page["text/html"] and "a  cell" in page["text/plain"]
    for form in page.values():
        assert form.count("line") < 40 and "more lines" in form
    large = shown(text_html=f"<table><tr><td>{'x' * 500_000}</td></tr></table>", text_plain="a table")
    page = card(final(large))["text/html"]
    assert len(page) < 100_000 and "a table" in page


def test_nothing_in_it_can_act():
    start = started(HOSTILE, model=HOSTILE, environment=types.Environment("", "", "", HOSTILE, ""))
    start = replace(start, task=types.Task(HOSTILE, (HOSTILE,)))
    error = CandidateObserved("1.1", types.Observation("error", error=types.ErrorInfo(HOSTILE, HOSTILE)))
    proposals = (planned(HOSTILE), SubtaskStarted("1", ()), proposed("1.1", HOSTILE), error)
    end = (SubtaskFinished("1", "failed", HOSTILE), finished("unchecked", HOSTILE, reason=HOSTILE))
    state = after(start, Notice(HOSTILE), *proposals, *end)
    outputs = (
        shown(text_html=HOSTILE, text_plain=HOSTILE),
        {"output_type": "display_data", "data": {"application/javascript": HOSTILE}, "metadata": {}},
        stream(HOSTILE),
        {"output_type": "error", "ename": HOSTILE, "evalue": HOSTILE, "traceback": [HOSTILE]},
    )
    state = replace(state, trace=HOSTILE, activity=HOSTILE, solution_outputs=final(*outputs).solution_outputs)
    page = card(state, cells=False, in_page=False, hint=HOSTILE)["text/html"]
    seen = Elements(page)
    assert not seen.tags & {"script", "iframe"} and not any(name.startswith("on") for name in seen.attributes)
    assert page.count("<div") == page.count("</div>")
    assert not formulas(page)


def test_it_has_theme_colours_and_a_live_region():
    state = after(START, PLAN)
    page = card(state, in_page=False)["text/html"]
    assert 'role="status" aria-live="polite"' in page and "aria-live" not in card(state)["text/html"]
    assert not re.search(r"(?<!-)color\d*:\s*#", page)


@pytest.mark.parametrize("in_page", [True, False])
def test_an_error_is_marked_beyond_colour_and_announced(in_page):
    """Issue 14, item 24: it was shown in a neutral box."""
    begun = after(RUNNING[0], finished("stopped"))
    for state in (RunState(task=types.Task("", ("nx",))), begun):
        refused = card(with_failure(state, "There is no such library.", at=1.0), in_page=in_page)
        page = refused["text/html"]
        assert 'role="alert"' in page and "Failed." in page and "--jp-rendermime-error-background" in page
        assert "color:var(--jp-error-color1" in page and refused["text/plain"].startswith("There is no such library.")
    stopped = with_failure(RunState(task=types.Task("", ("nx",))), "Stopped. It was stopped.", at=1.0, stopped=True)
    page = card(stopped, in_page=in_page)["text/html"]
    assert 'role="alert"' not in page and "Failed." not in page


def test_a_page_sees_whether_the_card_is_final():
    over = with_summary(RunState(), {"status": "stopped", "reason": "By the user.", "solution": None, "trace": None})
    assert headline(over) == "Stopped. By the user." and "jp-mod-ended" in card(over)["text/html"]
    assert "jp-mod-ended" not in card(with_failure(RunState(), "It broke.", at=1.0))["text/html"]
    assert not with_summary(RunState(), {"status": "strange"}).over


def test_the_plan_and_its_candidates_are_followed():
    state = after(
        *RUNNING[:4],
        proposed("1.2", "x"),
        proposed("1.3", "x", duplicate_of="1.1"),
        proposed("1.4", "", problem="the reply holds no code."),
        failed("1.1"),
        ran("1.2"),
        CandidateSelected(types.Selection("1", "1.2", ("it ran",))),
        SubtaskFinished("1", "done"),
    )
    first, second = state.planned
    assert (first.status, first.selected.id, second.status) == ("done", "1.2", "planned")
    assert [(c.id, c.state, c.note) for c in first.candidates] == [
        ("1.1", "error", "KeyError: 'x'"),
        ("1.2", "ok", ""),
        ("1.3", "duplicate", "same as 1.1"),
        ("1.4", "no code", "the reply holds no code."),
    ]
    assert describe(first) == "4 tried: 1 failed, 1 ran, 1 duplicate, 1 no code; 1.2 carried forward"


def test_many_candidates_are_counted():
    events = [event for n in range(1, 21) for event in (proposed(f"s{n}", "x"), failed(f"s{n}"))]
    state = after(START, *events, CandidateSelected(types.Selection("solution", "s2", ())))
    page = card(state, cells=False)["text/html"]
    assert "11 failed, then " in page
    assert "s2 failed, kept as experience" in page
    assert [f"s{n} failed</span>" in page for n in (1, 12, 13, 20)] == [False, False, True, True]


def test_the_activity_names_the_subtask_by_position():
    state = after(START, PLAN, SubtaskStarted("1", ()))
    assert state.activity == "Subtask 1 of 2: Make a graph"
    revised = planned("Make a graph", "Count edges", revision=1)
    second = replace(revised.plan.subtasks[1], id="3")
    revised = replace(revised, plan=replace(revised.plan, subtasks=(revised.plan.subtasks[0], second)))
    state = after(SubtaskFinished("1", "done"), revised, SubtaskStarted("3", ()), state=state)
    assert [(row.id, row.status) for row in state.planned] == [("1", "done"), ("3", "exploring")]
    assert state.activity == "Subtask 3 (2 of 2): Count edges"
    assert after(SubtaskFinished("3", "failed"), state=state).activity == "Writing the solution."


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Progress("Indexing networkx", 3, 10), "Indexing networkx (3 of 10)"),
        (Progress("Indexing networkx", 3), "Indexing networkx (3)"),
        (Progress("Indexing networkx"), "Indexing networkx"),
        (LibraryRead((), 1200, types.Introduction("")), "1,200 APIs known; planning."),
    ],
)
def test_the_headline_says_what_is_being_done(event, expected):
    assert headline(after(START, event)) == expected


@pytest.mark.parametrize(
    ("outcome", "code", "status"),
    [
        ("solved", "x = 1", "done"),
        ("unchecked", "x = 1", "done"),
        ("unsolved", None, "failed"),
        ("stopped", "# not run as a whole: So it was.\nx = 1", "not finished"),
    ],
)
def test_only_a_program_that_ran_is_offered(outcome, code, status):
    state = after(START, PLAN, proposed("s1", "x = 1"), finished(outcome, "x = 1", "s1", "So\nit was."))
    summary = {"status": outcome, "reason": "So\nit was.", "solution": "x = 1"}
    for ended in (state, with_summary(state, summary), with_summary(RunState(), summary)):
        assert ended.offered_solution == code
        assert ("<pre" in card(ended, cells=False)["text/html"]) == (code is not None)
        assert all(outcome.capitalize() in words for words in card(ended).values())
    assert f"Solution [{status}]" in as_text(state, 2000.0)


@pytest.mark.parametrize("outcome", ["unsolved", "stopped"])
def test_what_ran_at_the_end_is_unfinished(outcome):
    state = after(*RUNNING)
    for ended in (after(finished(outcome, None), state=state), with_failure(state, "It was killed.", at=1050.0)):
        text, page = as_text(ended, 2000.0), card(ended, cells=False)["text/html"]
        assert "running" not in text + page
        assert "1.1 not finished" in page
        assert "[not finished]" in text and "1 tried: 1 not finished" in text


def test_a_failed_check_differs_from_a_crash():
    unmet = CandidateObserved("s1", types.Observation("error", unmet="check"))
    state = after(START, PLAN, proposed("s1", "x"), proposed("s2", "x"), unmet, failed("s2"))
    assert describe(state.solution_section) == "2 tried: 1 ran, but its check failed, 1 failed"


def test_estimate_and_notices_are_shown():
    state = after(START, Notice("Output is sent to example.org."), Estimated(1, 2500))
    for words in (as_text(state, 1003.0), *card(state, cells=False).values()):
        assert "Output is sent to example.org." in words
        assert "about 1 call and 2,500 tokens expected" in words


def test_the_reason_of_a_failure_names_the_trace():
    known = replace(after(START), trace="a/b.ipynb")
    message = headline(with_failure(known, "It was killed.", at=1050.0))
    assert message == "It was killed. The results so far are in a/b.ipynb; --resume continues from there."
    assert headline(with_failure(known, message, at=1050.0)) == message


def test_cost_adds_up_and_ends_as_the_runs():
    usage = {"prompt_tokens": 900, "completion_tokens": 100}
    state = after(START, called(**usage), PLAN, proposed("1.1", "x"), ran("1.1"))
    assert cost(state, 1001.0 + 75) == "1 min 15 s, 1 model call, 1,000 tokens, 1 execution"
    end = RunFinished(types.Verdict("unsolved", "Nothing ran."), None, types.Usage(3, 10, 5, 1.0, 7))
    assert cost(fold(state, Record(9, 1011.0, end)), 9999.0) == "10 s, 3 model calls, 15 tokens, 7 executions"


def test_money_and_cached_tokens_are_shown():
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "cached_tokens": 600, "cost": 0.0125, "currency": "EUR"}
    start = replace(START, settings={"budget": {"cost": 2}})
    state = after(start, called(**usage), called(**usage), Estimated(9, 26_000, cost=0.5, currency="EUR"))
    assert "2,000 tokens (1,200 cached), 0.0250 EUR, 0 executions" in cost(state, 1001.0)
    assert str(state.estimate) == "about 9 calls and 26,000 tokens (0.50 EUR)"
    assert run_view(state, RunContext("key", None, None)).cost == "0.0250 EUR of 2.00 EUR, 1,200 tokens cached"


def test_waiting_time_does_not_count():
    waiting = after(START, PLAN, ReviewAsked())
    assert cost(waiting, 1900.0).startswith("2 s,")
    went_on = fold(waiting, Record(4, 1903.0, Steered("replan")))
    assert cost(went_on, 1908.0).startswith("7 s,")
    assert cost(with_failure(waiting, "It was killed.", at=1900.0), 9999.0).startswith("2 s,")
    assert cost(with_failure(after(START, PLAN), "It was killed.", at=1051.0), 9999.0).startswith("50 s,")
    refused = with_failure(RunState(called_at=1000.0), "There is no such library.", at=1002.0)
    assert cost(refused, 9999.0).startswith("2 s,")


def test_the_final_time_never_decreases():
    """Issue 14, item 20: the clock counted from the call, and the end from the engine's start."""
    end = RunFinished(types.Verdict("unchecked", ""), None, types.Usage(seconds=40.0))
    state = replace(after(START, PLAN), called_at=990.0)
    before = state.seconds(1050.0)
    over = fold(state, Record(9, 1050.0, end))
    assert (before, over.seconds(9999.0)) == (60.0, 60.0)
    counted = fold(replace(state, called_at=1045.0), Record(9, 1050.0, end))
    assert counted.seconds(9999.0) == 40.0
