"""Notebooks with less in them, and the summary object."""

import copy

import nbformat

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.trace import generated_metadata, render, summarize_run, without_unselected
from tests.unit.factories import complete_events, complete_run, recorded
from tests.unit.trace.views import roles


def test_without_losers_keeps_what_was_carried_forward():
    notebook = render(complete_run())
    before = copy.deepcopy(notebook)
    kept = without_unselected(notebook)
    nbformat.validate(kept)
    assert notebook == before
    assert [candidate for role, candidate in roles(kept) if role == "candidate"] == ["1.2", "2.1r1"]
    assert {"task", "setup", "plan", "subtask", "solution", "summary"} < {role for role, _ in roles(kept)}
    assert "records" not in kept.metadata.exploracoder_jupyter
    assert kept.metadata.exploracoder_jupyter.task == notebook.metadata.exploracoder_jupyter.task


def test_without_losers_keeps_an_edited_loser():
    notebook = render(complete_run())
    edited = next(cell for cell in notebook.cells if generated_metadata(cell).get("candidate") == "1.1")
    edited.source += "\n# worth a second look"
    assert "1.1" in [candidate for _, candidate in roles(without_unselected(notebook))]


def test_the_summary_of_a_complete_run(tmp_path):
    assert summarize_run(fold_all(complete_run()), trace=tmp_path / "run.ipynb") == {
        "status": "solved",
        "reason": "The check passed.",
        "solution": "print('the end')",
        "patch": None,
        "trace": str(tmp_path / "run.ipynb"),
        "library": {"networkx": "3.6.1"},
        "model": "scripted",
        "usage": {
            "calls": 5,
            "prompt_tokens": 500,
            "completion_tokens": 100,
            "seconds": 7.5,
            "executions": 9,
            "cached_tokens": 0,
            "cost": None,
            "currency": "",
        },
        "subtasks": [
            {
                "title": "Load the graph",
                "status": "done",
                "candidates": 4,
                "debug_rounds": 0,
                "apis": ["networkx.karate_club_graph"],
            },
            {
                "title": "Count triangles",
                "status": "done",
                "candidates": 1,
                "debug_rounds": 1,
                "apis": ["networkx.triangles"],
            },
        ],
        "isolation": "bubblewrap",
        "branching": "rerun",
        "state": "fresh: Windows has no fork",
        "files": [],
        "tests": [],
    }


def test_the_summary_of_a_cut_off_run():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    summary = summarize_run(fold_all(recorded(events)))
    assert (summary["status"], summary["solution"]) == ("stopped", None)
    assert (summary["usage"]["calls"], summary["usage"]["seconds"]) == (2, (len(events) - 1) * 0.5)
    assert summarize_run(fold_all([]))["status"] == "stopped"
