"""Traces of every version open: those of before for ever, those of later ones with a sentence."""

import json
from pathlib import Path

import nbformat
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Notice, dump
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.trace import find_problems, load, render, summarize_run
from exploracoder_jupyter.trace.metadata_namespace import SCHEMA_VERSION
from exploracoder_jupyter.trace.recorded_executions import executions
from exploracoder_jupyter.trace.storage.journal import read
from tests.unit.factories import complete_run
from tests.unit.trace.views import facts

GOLDEN = Path(__file__).parents[1] / "golden"
OLD = GOLDEN / "trace-version-1.ipynb"
LATER = SCHEMA_VERSION + 1


def written(path, notebook):
    path.write_text(nbformat.writes(notebook))
    return path


def test_a_trace_of_version_1_is_read_as_before(tmp_path):
    assert facts(json.loads(OLD.read_text()))["schema_version"] == 1
    records = load(OLD)
    summary = summarize_run(fold_all(records))
    assert summary["status"] == "solved"
    assert [subtask["status"] for subtask in summary["subtasks"]] == ["done", "done"]
    parents = {one.id: one.parent for one in executions(records)}
    assert {id: parent for id, parent in parents.items() if parent} == {"2.1": "1.2", "2.2": "1.2"}
    assert [one.id for one in executions(records) if one.selected] == ["1.2", "2.1", "s2"]
    again = written(tmp_path / "again.ipynb", render(records))
    assert facts(json.loads(again.read_text()))["schema_version"] == SCHEMA_VERSION
    assert load(again) == records


def test_a_trace_of_version_2_has_the_same_records(tmp_path):
    old = GOLDEN / "trace-version-2.ipynb"
    assert facts(json.loads(old.read_text()))["schema_version"] == 2
    assert load(old) == complete_run()
    assert render(load(old)) == render(complete_run())
    assert find_problems(nbformat.read(old, 4)) == []


def test_a_journal_without_a_head_is_of_version_1(tmp_path):
    path = tmp_path / "run.journal.jsonl"
    path.write_text("".join(f"{dump(record)}\n" for record in complete_run()))
    assert read(path) == [record for record in complete_run() if record.event.kind != "progress"]


def test_a_trace_of_a_later_version_opens_with_a_warning(tmp_path):
    notebook = render(complete_run())
    facts(notebook)["schema_version"] = LATER
    facts(notebook)["records"].append({"seq": 99, "event": {"kind": "from_the_future"}})
    records = load(written(tmp_path / "run.ipynb", notebook))
    assert [record for record in records if record not in complete_run()] == [records[1]]
    assert isinstance(records[1].event, Notice)
    assert records[1].event.level == "warning"
    assert f"format {LATER}" in records[1].event.text
    assert "later version" in "".join(cell.source for cell in render(records).cells)


def test_a_later_trace_that_cannot_be_read_says_what_to_do(tmp_path):
    notebook = render(complete_run())
    facts(notebook).update(schema_version=LATER, records={"elsewhere": True})
    with pytest.raises(UsageError, match="written by a later version") as caught:
        load(written(tmp_path / "run.ipynb", notebook))
    assert caught.value.remedy == "Update exploracoder_jupyter."


def test_what_was_measured_is_kept_apart_and_comes_back():
    notebook = json.loads(json.dumps(render(complete_run())))
    assert '"at"' not in json.dumps(facts(notebook)["records"])
    observed = [one["event"]["observation"] for one in facts(notebook)["records"] if "observation" in one["event"]]
    assert observed
    assert not any("seconds" in one or "memory" in one for one in observed)
    assert len(facts(notebook)["clock"]) == len(complete_run())


@pytest.mark.parametrize("clock", [None, [], [[]], "no", [[1.0, 2.0, 3.0]] * 999, [["x"], None]])
def test_a_damaged_clock_costs_nothing_but_times(tmp_path, clock):
    notebook = render(complete_run())
    facts(notebook)["clock"] = clock
    records = load(written(tmp_path / "run.ipynb", notebook))
    assert [record.event.kind for record in records][-1] == "run_finished"


@pytest.mark.parametrize(
    ("note", "unmet"),
    [
        ("The program ran, but the check failed.", "check"),
        ("The program ran, but defines no function f.", "name"),
        ("did not finish within 3 s", ""),
    ],
)
def test_what_earlier_versions_recorded_in_words_is_read_as_a_value(tmp_path, note, unmet):
    notebook = json.loads((GOLDEN / "trace-version-2.ipynb").read_text())
    observations = [one["event"]["observation"] for one in facts(notebook)["records"] if "observation" in one["event"]]
    del observations[0]["unmet"]
    observations[0]["note"] = note
    path = tmp_path / "run.ipynb"
    path.write_text(json.dumps(notebook))
    observed = [record.event.observation for record in load(path) if record.event.kind == "candidate_observed"]
    assert [(one.note, one.unmet) for one in observed][:2] == [(note, unmet), ("", "")]
