"""The public Python API in a script, in a notebook cell, and inside a running event loop."""

import asyncio
import subprocess
import sys

import pytest

from exploracoder_jupyter import UsageError, aexplore, explore, load_trace, search
from tests.patience import patience

TASK = {"task": "Compute the median of [1, 5, 2]", "libraries": "statistics", "model": "offline"}
CHECK = "assert result == 2"
INTERRUPTED = """
import os, signal
from exploracoder_jupyter import explore

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

def interrupt(record, seen=[]):
    seen.append(record.event.kind)
    if seen.count("candidate_proposed") == 1 == seen[-1:].count("candidate_proposed"):
        os.kill(os.getpid(), signal.SIGINT)

explore("Compute the median of [1, 5, 2]", libraries="statistics", model="offline", candidates=5, progress=interrupt)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_script_gets_the_solution_and_everything_tried(folder):
    events = []
    found = explore(**TASK, check=CHECK, progress=events.append)
    namespace = {}
    exec(found.solution, namespace)
    assert namespace["result"] == 2
    assert (found.status, found.trace.parent) == ("solved", folder / "explorations")
    assert any(one.selected and one.status == "ok" and "2" in one.text for one in found.candidates)
    assert found.usage.executions > 0 and events == list(found.records)
    again = load_trace(found.trace)
    assert (again.status, again.solution) == (found.status, found.solution)
    assert "median" in again._repr_html_() and found.solution in repr(again)


def test_it_works_inside_a_running_event_loop():
    async def cell():
        return explore(**TASK, check=CHECK, progress=False)

    assert asyncio.run(cell()).status == "solved"


def test_variables_are_sent_as_copies(capsys):
    values = [1, 5, 2]

    async def main():
        return await aexplore(
            "Compute the median of values", libraries=["statistics"], variables={"values": values}, model="offline"
        )

    found = asyncio.run(main())
    assert any(one.status == "ok" and "values" in one.code for one in found.candidates)
    assert values == [1, 5, 2]
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err  # progress goes to standard error


def test_an_interrupt_closes_the_trace_and_is_raised(folder):
    program = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(program, stderr=subprocess.PIPE, text=True, timeout=patience(60))
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr
    [trace] = folder.glob("explorations/*.ipynb")
    assert load_trace(trace).status == "stopped"
    assert not list(folder.glob("explorations/*.jsonl"))


def test_mistakes_are_named_before_anything_starts(folder):
    with pytest.raises(UsageError, match="candidate"):
        explore("x", libraries="statistics", candidats=3)
    with pytest.raises(UsageError, match="statistic5"):
        explore("x", libraries="statistic5", model="offline")
    assert list(folder.iterdir()) == []


def test_a_search_returns_apis():
    found = search("statistics", "middle value of data", 3)
    assert found[0].path == "statistics.median" and len(found) == 3
