"""The panel: a fold of records, and what people read."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    LibraryRead,
    ModelCalled,
    Notice,
    PlanMade,
    Progress,
    Record,
    ReviewAsked,
    RunFinished,
    RunStarted,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.run_state import RunState, fold, with_failure, with_summary
from exploracoder_jupyter.core.run_state.run_wording import cost, describe, headline
from exploracoder_jupyter.core.types import (
    Candidate,
    Environment,
    ErrorInfo,
    Exchange,
    Introduction,
    Observation,
    Plan,
    Sampling,
    Selection,
    Solution,
    Subtask,
    Task,
    Usage,
    Verdict,
)
from exploracoder_jupyter.ipython_extension.browser.sidebar_view import RunContext, run_view
from exploracoder_jupyter.ipython_extension.result_card.card_html import card_html
from exploracoder_jupyter.ipython_extension.result_card.card_text import as_text, card_text

START = RunStarted(
    "0123abcd",
    Task("Count the nodes.", ("networkx",)),
    {},
    "toy",
    Environment("3.11", "Linux", "python3", "bubblewrap", "rerun"),
    "0.1.0",
)
PLAN = PlanMade(Plan((Subtask("1", "Make a graph"), Subtask("2", "Count <nodes>"))))


def proposed(id, subtask="1", **fields):
    return CandidateProposed(Candidate(id, subtask, "code", **fields))


def observed(id, status="ok", error=None, unmet=""):
    return CandidateObserved(id, Observation(status, error=error, unmet=unmet))


def state_after(*events, state=None):
    for seq, event in enumerate(events, 1):
        state = fold(state or RunState(), Record(seq, 1000.0 + seq, event))
    return state


def called(**usage):
    return ModelCalled(Exchange(1, "plan", "", "m", (), Sampling(), (), Usage(calls=1, **usage)))


def test_the_plan_and_its_candidates_are_followed():
    state = state_after(
        START,
        PLAN,
        SubtaskStarted("1", ()),
        proposed("1.1"),
        proposed("1.2"),
        proposed("1.3", duplicate_of="1.1"),
        proposed("1.4", problem="the reply holds no code."),
        observed("1.1", "error", ErrorInfo("KeyError", "'x'")),
        observed("1.2"),
        CandidateSelected(Selection("1", "1.2", ("it ran",))),
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


def test_many_candidates_are_counted_and_the_last_ones_shown():
    events = [event for n in range(1, 21) for event in (proposed(f"s{n}", "solution"), observed(f"s{n}", "error"))]
    page = card_html(state_after(START, *events, CandidateSelected(Selection("solution", "s2", ()))), 0.0)
    assert "11 failed, then " in page
    assert "s2 failed, kept as experience" in page
    assert [f"s{n} failed" in page for n in (1, 12, 13, 20)] == [False, False, True, True]


def test_a_revised_plan_keeps_what_is_known():
    revised = PlanMade(Plan((Subtask("1", "Make a graph"), Subtask("3", "Count edges")), revision=1))
    state = state_after(START, PLAN, SubtaskStarted("1", ()), SubtaskFinished("1", "done"), revised)
    assert [(row.id, row.status) for row in state.planned] == [("1", "done"), ("3", "planned")]
    state = state_after(SubtaskStarted("3", ()), state=state)
    assert state.activity == "Subtask 3 (2 of 2): Count edges"


def test_with_the_last_subtask_done_the_solution_is_being_written():
    state = state_after(START, PLAN, SubtaskStarted("1", ()), SubtaskFinished("1", "done"))
    assert state.activity == "Subtask 1 of 2: Make a graph"
    state = state_after(SubtaskStarted("2", ()), SubtaskFinished("2", "failed"), state=state)
    assert state.activity == "Writing the solution."


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Progress("Indexing networkx", 3, 10), "Indexing networkx (3 of 10)"),
        (Progress("Indexing networkx", 3), "Indexing networkx (3)"),
        (Progress("Indexing networkx"), "Indexing networkx"),
        (LibraryRead((), 1200, Introduction("")), "1,200 APIs known; planning."),
    ],
)
def test_the_headline_says_what_is_being_done(event, expected):
    assert headline(state_after(START, event)) == expected


def test_cost_adds_up_while_it_runs_and_is_the_runs_own_at_the_end_but_for_the_time():
    state = state_after(START, called(prompt_tokens=900, completion_tokens=100), PLAN, proposed("1.1"), observed("1.1"))
    assert cost(state, 1001.0 + 75) == "1 min 15 s, 1 model call, 1,000 tokens, 1 execution"
    end = RunFinished(Verdict("unsolved", "Nothing ran."), None, Usage(3, 10, 5, 1.0, 7))
    assert cost(fold(state, Record(9, 1011.0, end)), 9999.0) == "10 s, 3 model calls, 15 tokens, 7 executions"


def test_money_and_cached_tokens_are_shown_where_there_are_any():
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "cached_tokens": 600, "cost": 0.0125, "currency": "EUR"}
    start = replace(START, settings={"budget": {"cost": 2}})
    state = state_after(start, called(**usage), called(**usage), Estimated(9, 26_000, cost=0.5, currency="EUR"))
    assert "2,000 tokens (1,200 cached), 0.0250 EUR, 0 executions" in cost(state, 1001.0)
    assert str(state.estimate) == "about 9 calls and 26,000 tokens (0.50 EUR)"
    assert run_view(state, RunContext("key", None, None)).cost == "0.0250 EUR of 2.00 EUR, 1,200 tokens cached"


def test_a_program_that_failed_its_check_is_distinguished_from_a_crash():
    tried = (proposed("s1", "solution"), proposed("s2", "solution"))
    seen = (observed("s1", "error", unmet="check"), observed("s2", "error"))
    state = state_after(START, PLAN, *tried, *seen)
    assert describe(state.solution_section) == "2 tried: 1 ran, but its check failed, 1 failed"


def test_time_that_it_waits_for_the_user_does_not_count():
    waiting = state_after(START, PLAN, ReviewAsked())
    assert cost(waiting, 1900.0).startswith("2 s,")
    went_on = fold(waiting, Record(4, 1903.0, Steered("replan")))
    assert cost(went_on, 1908.0).startswith("7 s,")
    assert cost(with_failure(waiting, "It was killed.", at=1900.0), 9999.0).startswith("2 s,")


def test_the_end_names_verdict_solution_and_trace():
    end = RunFinished(Verdict("solved", "The check passed."), Solution("n = 3", "s1"), Usage())
    state = with_summary(
        state_after(START, PLAN, proposed("s1", "solution"), observed("s1"), end), {"trace": "a/b.ipynb"}
    )
    assert state.over
    text = as_text(state, 2000.0, hint="To stop: interrupt the kernel.")
    assert "Solved. The check passed." in text
    assert "Trace: a/b.ipynb" in text
    assert "To stop" not in text
    assert "● Solution [done] 1 tried: 1 ran" in text
    assert "<pre" in card_html(state, 2000.0)


def ending(outcome, code="x = 1"):
    return RunFinished(Verdict(outcome, "So\nit was."), Solution(code, "s1") if code else None, Usage())


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        ("solved", "x = 1"),
        ("unchecked", "x = 1"),
        ("unsolved", None),
        ("stopped", "# not run as a whole: So it was.\nx = 1"),
    ],
)
def test_only_a_program_that_did_not_fail_is_offered(outcome, shown):
    state = state_after(START, PLAN, ending(outcome))
    summary = {"status": outcome, "reason": "So\nit was.", "solution": "x = 1"}
    for ended in (state, with_summary(state, summary), with_summary(RunState(), summary)):
        assert ended.offered_solution == shown
        assert ("<pre" in card_html(ended, 0.0)) == (shown is not None)


@pytest.mark.parametrize("outcome", ["unsolved", "stopped"])
def test_what_was_running_at_the_end_is_shown_as_not_finished(outcome):
    state = state_after(START, PLAN, SubtaskStarted("1", ()), proposed("1.1"), proposed("s1", "solution"))
    for ended in (state_after(ending(outcome, None), state=state), with_failure(state, "It was killed.", at=1050.0)):
        text, page = as_text(ended, 2000.0), card_html(ended, 2000.0)
        assert "running" not in text + page
        assert "1.1 not finished" in page
        assert "1 tried: 1 not finished" in text


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("solved", "done"), ("unchecked", "done"), ("unsolved", "failed"), ("stopped", "not finished")],
)
def test_the_solution_is_done_only_if_one_was_found(outcome, status):
    text = as_text(state_after(START, proposed("s1", "solution"), ending(outcome)), 2000.0)
    assert f"Solution [{status}]" in text


def test_a_summary_alone_is_enough_for_a_verdict():
    state = with_summary(RunState(), {"status": "stopped", "reason": "By the user.", "solution": None, "trace": None})
    assert headline(state) == "Stopped. By the user."
    assert not with_summary(RunState(), {"status": "strange"}).over


def test_a_failed_run_says_why():
    state = with_failure(state_after(START, PLAN, SubtaskStarted("1", ())), "The endpoint refused the key.", at=1050.0)
    assert headline(state) == "The endpoint refused the key."
    assert "[not finished]" in as_text(state, 1000.0)


@pytest.mark.parametrize("verdict", [None, Verdict("stopped", "The endpoint refused the key.")])
def test_an_error_has_the_themes_colour_of_errors(verdict):
    state = state_after(START, *([RunFinished(verdict, None, Usage())] if verdict else []))
    page = card_html(with_failure(state, "The endpoint refused the key.", at=1050.0), 0.0)
    assert "color:var(--jp-error-color1" in page


def test_a_run_that_was_refused_is_an_error():
    refused = with_failure(RunState(task=Task("", ("nx",))), "There is no such library.", at=1.0)
    assert "border:1px solid var(--jp-error-color1" in card_html(refused, 2.0, cells=True, in_page=True)
    assert card_text(refused, 2.0, cells=True, in_page=True).startswith("There is no such library.")


def test_the_end_of_a_run_shows_no_less_time_than_was_shown_before():
    """Issue 14, item 20: the clock counted from the call, and the end from the engine's start."""
    end = RunFinished(Verdict("unchecked", ""), None, Usage(seconds=40.0))
    state = replace(state_after(START, PLAN), called_at=990.0)
    before = state.seconds(1050.0)
    over = fold(state, Record(9, 1050.0, end))
    assert (before, over.seconds(9999.0)) == (60.0, 60.0)
    counted = fold(replace(state, called_at=1045.0), Record(9, 1050.0, end))
    assert counted.seconds(9999.0) == 40.0


def test_an_error_is_marked_by_more_than_its_colour_and_announced():
    """Issue 14, item 24: it was shown in a neutral box."""
    refused = with_failure(RunState(task=Task("", ("nx",))), "There is no such library.", at=1.0)
    for page in (card_html(refused, 2.0, cells=True, in_page=True), card_html(refused, 2.0)):
        assert 'role="alert"' in page and "Failed." in page and "--jp-rendermime-error-background" in page
    stopped = with_failure(RunState(task=Task("", ("nx",))), "Stopped. It was stopped.", at=1.0, stopped=True)
    for page in (card_html(stopped, 2.0, cells=True, in_page=True), card_html(stopped, 2.0)):
        assert 'role="alert"' not in page and "Failed." not in page


def test_a_run_that_broke_off_costs_no_more_time():
    cut = with_failure(state_after(START, PLAN), "It was killed.", at=1051.0)
    assert cost(cut, 9999.0).startswith("50 s,")
    refused = with_failure(RunState(called_at=1000.0), "There is no such library.", at=1002.0)
    assert cost(refused, 9999.0).startswith("2 s,")
    summary = {"status": "stopped", "reason": "", "solution": None, "trace": None}
    over = with_summary(RunState(called_at=1000.0), summary)
    assert cost(over, 9999.0).startswith("0 s,")


def test_the_reason_of_a_failure_names_the_trace_once():
    known = replace(state_after(START), trace="a/b.ipynb")
    message = headline(with_failure(known, "It was killed.", at=1050.0))
    assert message == "It was killed. The results so far are in a/b.ipynb; --resume continues from there."
    assert headline(with_failure(known, message, at=1050.0)) == message


def test_estimate_and_notices_are_shown():
    state = state_after(START, Notice("Output is sent to example.org."), Estimated(1, 2500))
    for shown in (as_text(state, 1003.0), card_html(state, 1003.0)):
        assert "Output is sent to example.org." in shown
        assert "about 1 call and 2,500 tokens expected" in shown


def test_records_that_are_not_shown_change_nothing_but_the_time():
    before = state_after(START, PLAN)
    after = fold(before, Record(9, 2000.0, observed("7.7")))
    assert (after.planned, after.solution_section) == (before.planned, before.solution_section)


HOSTILE = '<script>alert(1)</script><img src=x onerror="f()">"\'&'


def test_html_escapes_every_string_and_holds_no_script():
    start = RunStarted("0" * 8, Task(HOSTILE, (HOSTILE,)), {}, HOSTILE, Environment("", "", "", HOSTILE, ""), "0")
    end = RunFinished(Verdict("unchecked", HOSTILE), Solution(HOSTILE, "s1"), Usage())
    state = state_after(
        start,
        Notice(HOSTILE),
        PlanMade(Plan((Subtask(HOSTILE, HOSTILE),))),
        proposed(HOSTILE, HOSTILE),
        observed(HOSTILE, "error", ErrorInfo(HOSTILE, HOSTILE)),
        SubtaskFinished(HOSTILE, "failed", HOSTILE),
        end,
    )
    seen = _Tags(card_html(with_summary(state, {"trace": HOSTILE}), 0.0, hint=HOSTILE))
    assert seen.tags <= {"div", "ul", "li", "span", "strong", "pre", "code", "details", "summary"}
    assert seen.attributes <= {"style", "class", "role", "aria-live", "aria-hidden", "title"}


def test_html_has_theme_colours_and_a_live_region():
    page = card_html(state_after(START, PLAN), 1003.0)
    assert 'role="status" aria-live="polite"' in page
    assert not re.search(r"(?<!-)color\d*:\s*#", page)


class _Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
