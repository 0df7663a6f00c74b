"""Both views of a run on a terminal, from one invented but complete run."""

import io
import re

from rich.console import Console

from exploracoder_jupyter.cli.live_view import EventLines, LiveView, render_view
from exploracoder_jupyter.core import events, types
from exploracoder_jupyter.core.run_state import RunState, fold

START = 1_000_000.0


def _candidate(id, subtask="1", **more):
    return events.CandidateProposed(types.Candidate(id, subtask, "x = 1", **more))


def _observed(id, status="ok", **more):
    return events.CandidateObserved(id, types.Observation(status, **more))


def _exchange(problem=""):
    sampling, usage = types.Sampling(), types.Usage(calls=1, prompt_tokens=1200, completion_tokens=34)
    return events.ModelCalled(types.Exchange(1, "plan", "", "m", (), sampling, ("r",), usage, problem))


PLAN = types.Plan((types.Subtask("1", "Build a \x1b[2Jgraph"), types.Subtask("2", "Rank its nodes")))
BEGINNING = [
    events.RunStarted(
        "0a1b2c3d",
        types.Task("t", ("networkx",)),
        {},
        "toy",
        types.Environment("3.11", "Linux", "python3", "limits only", "rerun"),
        "0.1.0",
    ),
    events.Progress("Reading networkx", 0, 2000),
    events.Progress("Reading networkx", 1000, 2000),
    events.Notice("The directory was copied."),
    events.LibraryRead((types.LibraryInfo("networkx", "networkx", "3.6"),), 2145, types.Introduction("s")),
    events.Estimated(9, 40_000),
    _exchange(),
    events.PlanMade(PLAN),
    events.SubtaskStarted("1", ()),
    _candidate("1.1"),
    _candidate("1.2"),
    _candidate("1.3", duplicate_of="1.1"),
    _candidate("1.4", problem="the reply is empty"),
    _observed("1.2", "error", error=types.ErrorInfo("NameError", "name 'nx' is not defined")),
]
END = [
    _observed("1.1"),
    events.CandidateSelected(types.Selection("1", "1.1", ("ran", "shorter"))),
    events.SubtaskFinished("1", "done"),
    events.SubtaskFinished("2", "skipped", "it is done already"),
    _candidate("s1", "solution"),
    _observed("s1", "timeout", note="60 s are over"),
    _candidate("s2", "solution"),
    _observed("s2"),
    events.RunFinished(
        types.Verdict("solved", "The check passed."),
        types.Solution("x = 1", "s2"),
        types.Usage(calls=7, prompt_tokens=5000, completion_tokens=600, executions=4),
    ),
]


def _records(happened):
    return [events.Record(n, START + n, event) for n, event in enumerate(happened)]


def _drawn(happened, *, now=START + 75):
    state = RunState()
    for record in _records(happened):
        state = fold(state, record)
    screen = Console(file=io.StringIO(), width=140)
    screen.print(render_view(state, now=now))
    return screen.file.getvalue()


def _lines(happened):
    lines = []
    take = EventLines(lines.append)
    for record in _records(happened):
        take(record)
    return lines


def test_every_prefix_of_a_run_can_be_drawn():
    for upto in range(len(BEGINNING + END) + 1):
        assert "call" in _drawn((BEGINNING + END)[:upto])


def test_the_live_view_shows_plan_outcomes_and_cost():
    shown = _drawn(BEGINNING)
    for expected in (
        "1. Build a",
        "2. Rank its nodes",
        "1.2 ✗",
        "NameError: name 'nx' is not defined",
        "1,234 tokens",
        "1:15",
        "about 9 calls",
        "Ctrl-C stops",
        "The directory was copied.",
    ):
        assert expected in shown
    assert "\x1b[2J" not in shown


def test_a_finished_view_offers_no_stop():
    shown = _drawn(BEGINNING + END)
    assert "1.1 ✓ carried forward" in shown
    assert "Ctrl-C" not in shown
    assert "Rank its nodes (skipped)" in shown


def test_a_revised_plan_repeats_no_title():
    long = f"Rank {'all ' * 60}nodes"
    first = types.Plan((types.Subtask("1", "Build a graph"), types.Subtask("2", long)))
    second = types.Plan((*first.subtasks, types.Subtask("3", "Draw it")), revision=1)
    revised = _lines([events.PlanMade(first), events.PlanMade(second, "more to do"), events.SubtaskStarted("2", ())])
    assert [line.partition("] ")[2] for line in revised] == [
        f"Plan: 1 Build a graph; 2 {long}",
        "Plan revised (more to do): 1, 2 as before; 3 Draw it",
        f"Subtask 2: Rank {'all ' * 28}al…",
    ]


def test_without_a_terminal_each_event_is_one_line():
    lines = _lines(BEGINNING + END)
    assert all(re.match(r"\[ +\d+\.\ds\] \S", one) and "\n" not in one and "\x1b" not in one for one in lines)
    text = "\n".join(lines)
    for expected in (
        "Read networkx 3.6: 2,145 APIs.",
        "Candidate 1.2 failed: NameError: name 'nx' is not defined",
        "Candidate 1.3 is the same as 1.1.",
        "Candidate 1.4 has no code: the reply is empty",
        "Candidate 1.1 is carried forward: ran; shorter.",
        "Candidate s1 timed out: 60 s are over",
        "Subtask 2 skipped: it is done already",
    ):
        assert expected in text
    assert "The check passed." not in text
    assert sum("Reading networkx" in one for one in lines) == 1


def test_the_same_problem_of_replies_is_reported_once():
    lines = _lines([_candidate(f"1.{n}", problem="the reply is empty.") for n in (1, 2, 3)])
    assert [one.partition("] ")[2] for one in lines] == ["Candidate 1.1 has no code: the reply is empty."]
    truncated, refused = _lines([_exchange("truncated"), _exchange(), _exchange("truncated"), _exchange("refused")])
    assert "truncated" in truncated and "refused" in refused


def test_the_live_view_works_without_a_terminal(capsys):
    with LiveView() as view:
        for record in _records(BEGINNING + END):
            view(record)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Build a" in captured.err
