"""What the command makes of a run's result, without a run: `session` is replaced by one that answers at once."""

import json
import os
import re
import signal
import sys
import types

import pytest

from exploracoder_jupyter import runs
from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.errors import BudgetExceeded, EndpointError, KernelError, UsageError
from exploracoder_jupyter.core.types import Task

RUN = ["run", "-t", "do it", "--library", "statistics"]


class _Steering:
    def __init__(self):
        self.stopped = False

    def stop(self):
        self.stopped = True


@pytest.fixture
def session(monkeypatch):
    """A session whose `answer` is returned, raised, or called."""
    given = types.SimpleNamespace(answer=None, orders=[])

    async def run(order, listen, *, steering):
        given.orders.append(order)
        sys.stdout.write("a library prints\n")
        listen(events.Record(0, 1.0, events.Notice("told")))
        return _give(given.answer, steering)

    async def index(libraries, *, layers=(), progress=None, say=None):
        progress("Reading", 5, 10)
        return _give(given.answer)

    async def search(libraries, query, k, *, layers=(), progress=None):
        progress("Reading", 1500, 0)
        given.orders.append((libraries, query, k, layers))
        return _give(given.answer)

    async def diagnose():
        return _give(given.answer)

    for name in runs.__all__:
        getattr(runs, name)  # the first access to a name sets others, and would replace a fake
    for fake in (run, index, search, diagnose):
        monkeypatch.setattr(runs, fake.__name__, fake)
    monkeypatch.setattr(runs, "RunSteering", _Steering)
    return given


def _give(answer, *arguments):
    if isinstance(answer, BaseException):
        raise answer
    return answer(*arguments) if callable(answer) else answer


def _summary(status, **more):
    return {"status": status, "reason": "That is why.", "solution": "x = 1", "trace": "explorations/a.ipynb", **more}


@pytest.mark.parametrize(
    ("outcome", "check", "status"),
    [
        ("solved", True, 0),
        ("solved", False, 0),
        ("unchecked", False, 0),
        ("unchecked", True, 1),
        ("unsolved", False, 1),
        ("stopped", False, 1),
    ],
)
def test_the_exit_status_says_how_it_ended(session, outcome, check, status):
    session.answer = _summary(outcome)
    assert main([*RUN, *(["--check", "assert x"] if check else [])]) == status


def test_an_unconfirmed_solution_is_not_a_good_end(session):
    session.answer = _summary("unchecked") | {"tests": [{"title": "none", "status": "ok", "judged": "wrong"}]}
    assert main(RUN) == 1
    session.answer = session.answer | {"status": "solved"}
    assert main(RUN) == 0


def test_only_the_result_is_on_standard_output(session, capsys):
    session.answer = _summary("solved")
    main(RUN)
    captured = capsys.readouterr()
    assert captured.out == "Solved: That is why.\n\nx = 1\n\nTrace: explorations/a.ipynb\n"
    assert "told" in captured.err
    assert "a library prints" in captured.err


def test_the_files_that_were_kept_are_named(session, capsys):
    session.answer = _summary("solved") | {"files": ["/here/t.files/a.csv", "/here/t.files/b.csv"]}
    assert main(RUN) == 0
    assert capsys.readouterr().out.endswith("Files written:\n  /here/t.files/a.csv\n  /here/t.files/b.csv\n")


@pytest.mark.parametrize(
    ("outcome", "shown"), [("unsolved", "\n"), ("stopped", "\n\n# not run as a whole: That is why.\nx = 1\n\n")]
)
def test_failed_programs_are_hidden_and_joined_snippets_labelled(session, capsys, outcome, shown):
    session.answer = _summary(outcome)
    main(RUN)
    output = capsys.readouterr().out
    assert output == f"{outcome.capitalize()}: That is why.{shown}Trace: explorations/a.ipynb\n"


def test_json_is_the_summary_and_nothing_else(session, capsys):
    session.answer = _summary("unsolved", solution=None)
    main([*RUN, "--json"])
    assert json.loads(capsys.readouterr().out) == session.answer


def test_the_order_has_task_check_libraries_and_settings(session, tmp_path):
    session.answer = _summary("solved")
    (tmp_path / "check.py").write_text("assert f(1)")
    main([*RUN, "pandas", "statistics", "--check", str(tmp_path / "check.py"), "--name", "f", "--candidates", "3"])
    (order,) = session.orders
    assert order.task == Task("do it", ("statistics", "pandas"), check="assert f(1)", solution_name="f")
    assert order.layers == ({"exploration": {"candidates": 3}},)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("Wrong.", remedy="Do it right."), 2),
        (EndpointError("Refused."), 2),
        (KernelError("No kernel."), 2),
        (BudgetExceeded("Spent."), 1),
        (ExceptionGroup("g", [ValueError("beside"), ExceptionGroup("h", [EndpointError("Refused.")])]), 2),
        (OSError(28, "No space left on device", "a.ipynb"), 2),
        (RuntimeError("a fault of ours"), 3),
        (KeyboardInterrupt(), 1),
    ],
)
def test_an_error_is_one_sentence_and_an_object(session, capsys, error, status):
    session.answer = error
    assert main([*RUN, "--json"]) == status
    captured = capsys.readouterr()
    messages = [line for line in captured.err.splitlines() if line.startswith("jupyter explora: ")]
    assert len(messages) == 1
    assert "Traceback" not in captured.err
    assert json.loads(captured.out)["error"] in messages[0]


def test_the_first_interrupt_asks_the_run_to_stop(session, capsys):
    def interrupted(steering):
        os.kill(os.getpid(), signal.SIGINT)
        return _summary("stopped" if steering.stopped else "solved")

    session.answer = interrupted
    before = signal.getsignal(signal.SIGINT)
    assert main(RUN) == 1
    assert capsys.readouterr().out.startswith("Stopped: ")
    assert signal.getsignal(signal.SIGINT) is before


def test_index_and_search_have_the_documented_shapes(session, capsys):
    session.answer = [
        {
            "name": "statistics",
            "version": "3.11",
            "apis": 30,
            "with_signature": 29,
            "with_docs": 28,
            "with_examples": 20,
            "seconds": 0.1,
            "cached": False,
        }
    ]
    assert main(["index", "statistics", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"libraries": session.answer}
    assert main(["index", "statistics"]) == 0
    assert "statistics 3.11: 30 APIs read in 0.1 s" in capsys.readouterr().out


FOUND = {
    "path": "statistics.mean",
    "signature": "(data)",
    "description": "The\nmean.",
    "deprecated": None,
    "parameters": [{"name": "data", "type": "Iterable", "default": "", "about": "What the mean\nis of."}],
    "returns": "a number",
    "examples": ["from statistics import mean\n\nmean([1, 2])", "mean([3])"],
}
ANSWER = {
    "query": "mean",
    "results": [FOUND],
    "libraries": [{"name": "statistics", "version": "3.11", "cached": True}],
    "apis": 1234,
    "notices": ["It cannot run here."],
    "seconds": 0.26,
}


def test_a_search_has_the_documented_shapes(session, capsys):
    session.answer = ANSWER
    assert main(["search", "statistics,math", "mean", "--json", "-k", "3", "--kernel", "other"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == session.answer
    assert captured.err == "Reading (1,500 APIs)\n"
    assert session.orders == [(["statistics", "math"], "mean", 3, [{"sandbox": {"kernel": "other"}}])]
    assert main(["search", "statistics", "mean"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "statistics.mean(data)\n    The mean.\n"
    assert captured.err.endswith("\nIt cannot run here.\nstatistics 3.11: 1,234 APIs, searched in 0.3 s\n")


@pytest.mark.parametrize("option", ["-v", "--examples"])
def test_a_search_shows_details_on_request(session, capsys, option):
    session.answer = {**ANSWER, "results": [{**FOUND, "deprecated": "since 3.4"}]}
    assert main(["search", "statistics", "mean", option]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "statistics.mean(data)",
        "    The mean.",
        "    Deprecated:  since 3.4",
        "    data: Iterable  What the mean is of.",
        "    Returns:  a number",
        "        from statistics import mean",
        "",
        "        mean([1, 2])",
    ]


@pytest.mark.parametrize("results", [[FOUND], []])
def test_a_terminal_obeys_nothing_that_was_searched(session, capsys, monkeypatch, results):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    rows = [{**row, "description": "Bold \x1b[2Jmean [red]of[/red] data.", "deprecated": "old"} for row in results]
    session.answer = {**ANSWER, "results": rows}
    assert main(["search", "statistics", "mean", "-v"]) == (0 if results else 1)
    shown = capsys.readouterr().out
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "statistics 3.11: 1,234 APIs, searched in 0.3 s" in plain
    assert ("1. statistics.mean(data)  deprecated" in plain) == bool(results)
    assert ("Bold \N{REPLACEMENT CHARACTER}[2Jmean [red]of[/red] data." in plain) == bool(results)
    assert ("mean([1, 2])" in plain) == bool(results)
    assert ("Nothing was found." in plain) != bool(results)
    assert "\x1b[2J" not in shown


def test_the_doctor_reports_problems_with_their_remedies(session, capsys):
    session.answer = {
        "endpoint": {"model": "offline", "reachable": None},
        "branching": "rerun",
        "isolation": "limits only",
        "labextension": "not in this version",
        "plugins": {
            "models": [
                {"name": "offline", "distribution": "exploracoder-jupyter", "version": "0.1.0"},
                {"name": "tides", "distribution": "explora-tides", "version": "2"},
            ],
            "sources": [],
        },
        "problems": [{"what": "Bubblewrap is missing.", "remedy": "Install it."}],
    }
    assert main(["doctor"]) == 1
    output = capsys.readouterr().out
    assert "- Bubblewrap is missing. Install it." in output
    assert "branching:    rerun" in output
    assert "models:       offline (exploracoder-jupyter 0.1.0); tides (explora-tides 2)\nsources:      none\n" in output
    session.answer = {**session.answer, "problems": []}
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == session.answer
