"""What becomes of a file that is at the path of a new trace."""

import json

import nbformat
import pytest

from exploracoder_jupyter.core.configuration.sources import history_path, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.history import HistoryStore
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.runs import Order
from exploracoder_jupyter.runs.recording import EventRecorder, HistoryWriter
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.edits import without_unselected
from exploracoder_jupyter.trace.paths import journal_path
from tests.unit.factories import complete_events, started


def explored(path, *, run_id, text="Count.", events=None, listen=lambda record: None, ended=True):
    settings = resolve({"view": {"out": str(path)}}, environ={})
    order = Order(Task(text, ("networkx",)), workdir=path.parent)
    historian = HistoryWriter(order, settings, lambda record, state: listen(record), lambda path: None)
    recorder = EventRecorder(
        order, settings, historian.listen, on_trace_created=historian.trace_created, renamed=historian.trace_renamed
    )
    for event in [started(text, run_id=run_id), *(complete_events()[1:] if events is None else events)]:
        recorder(event)
    if ended:
        recorder.close()
    return recorder


def run_of(path):
    return load(path)[0].event.run_id


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("text", ["Count.", "Another task."])
def test_an_earlier_trace_is_kept_under_a_number(tmp_path, text):
    """Issue 14, item 12: of the same task or of another, no trace is lost, and the run says where it is."""
    records, path = [], tmp_path / "a.ipynb"
    explored(path, run_id="00000001")
    before = path.read_bytes()
    explored(path, run_id="00000002", text=text, listen=records.append)
    explored(path, run_id="00000003", text=text)
    assert names(tmp_path) == ["a.1.ipynb", "a.2.ipynb", "a.ipynb"]
    assert (tmp_path / "a.1.ipynb").read_bytes() == before
    assert [run_of(tmp_path / name) for name in names(tmp_path)] == ["00000001", "00000002", "00000003"]
    assert sum("a.1.ipynb" in getattr(record.event, "text", "") for record in records) == 1


def test_a_cut_off_run_keeps_its_journal(tmp_path):
    """Issue 14, item 12: a journal may be all that there is of a run."""
    path = tmp_path / "a.ipynb"
    explored(path, run_id="00000001", events=complete_events()[1:9], ended=False)._lock.release()
    known = load(path)
    explored(path, run_id="00000002")
    assert load(tmp_path / "a.1.ipynb") == known
    assert names(tmp_path) == ["a.1.ipynb", "a.1.journal.jsonl", "a.ipynb"]


def test_an_unstarted_run_leaves_the_earlier_trace(tmp_path):
    """Issue 14, item 12: a mistake in a library's name renames nothing."""
    path = tmp_path / "a.ipynb"
    explored(path, run_id="00000001")
    before = path.read_bytes()
    explored(path, run_id="00000002", events=[])
    assert (names(tmp_path), path.read_bytes()) == (["a.ipynb"], before)


def test_the_history_knows_the_new_name(tmp_path):
    """Issue 14, item 12: the earlier run is listed with its trace, and can be resumed from there."""
    path = tmp_path / "a.ipynb"
    for run_id in ("00000001", "00000002", "00000003"):
        explored(path, run_id=run_id)
    places = {run.id: run.trace for run in HistoryStore(history_path()).all()}
    assert places == {
        "00000001": str(tmp_path / "a.1.ipynb"),
        "00000002": str(tmp_path / "a.2.ipynb"),
        "00000003": str(path),
    }


def test_a_foreign_notebook_is_never_replaced(tmp_path):
    """Issue 14, item 12: a notebook of the user, also one that was made from a trace, is refused and stays."""
    path, mine = tmp_path / "a.ipynb", tmp_path / "mine.ipynb"
    explored(path, run_id="00000001")
    made = without_unselected(nbformat.read(path, as_version=4))
    for content in (nbformat.v4.new_notebook(), made, {"metadata": {"exploracoder_jupyter": []}}):
        mine.write_text(json.dumps(content))
        before = mine.read_bytes()
        with pytest.raises(UsageError, match="is not the trace of a run") as refused:
            explored(mine, run_id="00000002")
        assert "--out" in refused.value.remedy
        assert mine.read_bytes() == before
    assert not journal_path(mine).exists()
