"""The trace on disk: journal, notebook, what survives a crash or a full disk, what is never written."""

import errno
import json
import os
import stat
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import SubtaskStarted
from exploracoder_jupyter.core.types import Message
from exploracoder_jupyter.trace import Redactor, Trace, find_problems, generated_metadata, journal_path, load, render
from exploracoder_jupyter.trace.file import serialize_notebook
from exploracoder_jupyter.trace.paths import default_path, prepare_path, spare_journal_path
from exploracoder_jupyter.trace.storage import Journal, read
from tests.unit.factories import (
    api,
    asked,
    complete_run,
    finished,
    planned,
    proposed,
    ran,
    recorded,
    started,
)
from tests.unit.trace.views import journaled, traced, unpack, whole_text

NOW = datetime(2026, 3, 4, 5, 6, 7)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_render_gives_a_valid_notebook():
    notebook = render(complete_run())
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec == {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    assert notebook.metadata.language_info.version == "3.11.9"
    assert "Count the triangles" in notebook.cells[0].source
    assert "- **Libraries:** networkx 3.6.1" in notebook.cells[0].source


def test_the_metadata_suffices_to_run_again():
    facts = json.loads(json.dumps(render(complete_run()).metadata.exploracoder_jupyter))
    assert find_problems(render(complete_run())) == []
    assert facts["task"] == {
        "text": "Count the triangles of the karate club graph.",
        "libraries": ["networkx"],
        "uses": [],
        "setup": "",
        "variables": [],
    }
    assert facts["environment"]["packages"] == ["networkx==3.6.1", "numpy==2.3.0"]
    assert facts["libraries"] == [{"name": "networkx", "distribution": "networkx", "version": "3.6.1"}]
    assert facts["verdict"] == {"outcome": "solved", "reason": "The check passed.", "stopped_by": ""}
    assert facts["usage"]["prompt_tokens"] == 500
    exchanges = [
        line["event"]["exchange"] for line in unpack(facts["records"]) if line["event"]["kind"] == "model_called"
    ]
    assert [exchange["replies"] for exchange in exchanges] == [["a reply"], ["a reply"]]


def test_a_finished_trace_needs_no_journal(tmp_path):
    path = tmp_path / "run.ipynb"
    trace = traced(path, complete_run())
    trace.close()
    trace.close()
    assert names(tmp_path) == ["run.ipynb"]
    assert trace.problem is None
    assert load(path) == complete_run()
    nbformat.validate(nbformat.read(path, 4))


def test_a_journal_has_a_cut_off_run(tmp_path):
    path = tmp_path / "run.ipynb"
    records = complete_run()
    traced(path, records[:20], interval=1000)  # never closed, as after a crash
    assert len(unpack(nbformat.read(path, 4).metadata.exploracoder_jupyter.records)) == 1
    assert load(path) == records[:20]
    path.unlink()
    assert load(path) == records[:20]
    assert load(journal_path(path)) == records[:20]


def test_the_journal_is_written_at_once_and_private(tmp_path):
    path = tmp_path / "run.journal.jsonl"
    journal = Journal(path)
    for count, record in enumerate(complete_run(), 1):
        journal.append(record)
        assert path.read_bytes().count(b"\n") == count + 1  # the head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    journal.close()
    journal.close()


def test_the_notebook_is_whole_after_each_step(tmp_path):
    path = tmp_path / "run.ipynb"
    trace = Trace(path, interval=0)
    for record in complete_run():
        trace.append(record)
        notebook = json.loads(path.read_text())
        known = [line["seq"] for line in unpack(notebook["metadata"]["exploracoder_jupyter"]["records"])]
        assert known == list(range(len(known)))
    assert known[-1] == record.seq


def test_what_has_no_room_is_kept_elsewhere(tmp_path, monkeypatch):
    path, records = tmp_path / "run.ipynb", complete_run()
    trace = traced(path, records[:20], interval=0)
    full = journal_path(path).stat()
    real = os.write

    def write(file, data):
        if os.path.samestat(os.fstat(file), full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data)

    def put(path, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr("exploracoder_jupyter.trace.file.write_atomic", put)
    for record in records[20:]:
        trace.append(record)
    spare = spare_journal_path(records[0].event.run_id)
    assert "No space left on device" in trace.problem and trace.problem.endswith(f"The missing records are in {spare}.")
    assert load(path) == load(spare) == records
    assert stat.S_IMODE(spare.stat().st_mode) == 0o600
    monkeypatch.undo()
    trace.close()
    assert load(path) == records
    assert trace.problem is None and not spare.exists()


def test_only_run_ids_name_files():
    assert spare_journal_path("../../x") is spare_journal_path("") is None


def test_two_runs_at_one_path_lose_nothing(tmp_path):
    path = tmp_path / "run.ipynb"
    another = recorded([started(run_id="89ef0123"), *[record.event for record in complete_run()[1:]]])
    first = traced(path, complete_run()[:9], interval=1000)
    second = traced(path, another[:9], interval=1000)
    for record in complete_run()[9:]:
        first.append(record)
    first.close()  # its journal is another name by now: that of the second is not its own
    assert read(journal_path(path)) == another[:9]
    second.append(another[9])
    assert load(path) == another[:10]
    assert read(tmp_path / "run.1.journal.jsonl") == complete_run()


def test_a_journal_has_the_unwritten_later_run(tmp_path):
    path = tmp_path / "run.ipynb"
    traced(path, complete_run()).close()
    another = recorded([started(run_id="89ef0123"), *[record.event for record in complete_run()[1:9]]])
    journaled(path, another)
    assert load(path) == another


def test_the_notebook_completes_the_journal(tmp_path):
    path, records = tmp_path / "run.ipynb", complete_run()
    path.write_text(nbformat.writes(render(records[:12])))
    journaled(path, [*records[:3], *records[6:20]])  # there was no room for a while
    assert load(path) == records[:20]


DEEP = "[" * 200_000
SIZE = len(serialize_notebook(render(complete_run())))
"""Bytes of the whole notebook; without its records it is more than a kilobyte smaller."""


@pytest.fixture
def disk(monkeypatch):
    """A disk that takes only files of at most `room` bytes; without room, not even the end of a line."""
    disk, write, fsync = SimpleNamespace(room=1e9), os.write, os.fsync

    def limited_write(file, data):
        if disk.room:
            return write(file, data)
        write(file, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def limited_fsync(file):
        if os.fstat(file).st_size > disk.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    monkeypatch.setattr(os, "write", limited_write)
    monkeypatch.setattr(os, "fsync", limited_fsync)
    return disk


def test_a_full_disk_leaves_the_old_notebook(tmp_path, disk):
    path, records = tmp_path / "run.ipynb", complete_run()
    trace = traced(path, records[:20], interval=0)
    before = path.read_bytes()
    disk.room = 0
    for record in records[20:-1]:
        trace.append(record)
    assert path.read_bytes() == before
    assert "No space left on device" in trace.problem
    assert load(path) == records[:20]
    assert names(tmp_path) == ["run.ipynb", "run.journal.jsonl"]
    disk.room = 1e9
    trace.append(records[-1])
    assert read(journal_path(path)) == [*records[:20], records[-1]]
    trace.close()
    assert trace.problem is None
    assert load(path) == records
    assert names(tmp_path) == ["run.ipynb"]


def test_with_room_for_cells_records_stay_journaled(tmp_path, disk):
    path, records = tmp_path / "run.ipynb", complete_run()
    trace = traced(path, records[:-1], interval=1000)
    disk.room = SIZE - 1_000
    trace.append(records[-1])
    trace.close()
    assert "No space left on device" in trace.problem
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert generated_metadata(notebook.cells[-1])["status"] == "solved"
    assert "records" not in notebook.metadata.exploracoder_jupyter
    assert load(path) == records


def test_records_of_the_last_whole_notebook_are_kept(tmp_path, disk, monkeypatch):
    path, records = tmp_path / "run.ipynb", complete_run()
    trace = traced(path, records[:2], interval=0)
    disk.room = 0
    trace.append(records[2])  # the journal will never have it
    disk.room = 1e9
    monkeypatch.setattr(time, "monotonic", lambda: 1e12)
    for record in records[3:-1]:
        trace.append(record)
    assert records[2] in load(path)
    disk.room = SIZE - 1_000
    trace.append(records[-1])
    trace.close()
    assert "No space left on device" in trace.problem
    assert load(path) == records


def test_load_refuses_what_is_not_a_trace(tmp_path):
    path = tmp_path / "mine.ipynb"
    for content in (
        None,
        "",
        "[]",
        f'{{"metadata": {{"exploracoder_jupyter": {DEEP}',
        '{"metadata": {}, "cells": []}',
        '{"metadata": {"exploracoder_jupyter": {}}}',
    ):
        if content is not None:
            path.write_text(content)
        with pytest.raises(UsageError, match="not the trace of a run"):
            load(path)


def test_redaction_leaves_everything_else_as_it_was():
    redactor = Redactor(["", "x", "ok", "scripted"])
    for record in complete_run():
        assert Redactor().record(record) == record
        once = redactor.record(record)
        assert redactor.record(once) == once
    assert redactor.text("task-based risk-aware sk-learn-contrib-something bearer of bad news") == (
        "task-based risk-aware sk-learn-contrib-something bearer of bad news"
    )


def test_what_no_file_can_hold_is_replaced(tmp_path):
    deep = value = []
    for _ in range(100_000):
        value.append([])
        value = value[0]
    output = {
        "output_type": "display_data",
        "data": {"application/json": {"n": float("inf"), "deep": deep}},
        "metadata": {},
    }
    records = recorded([started("lone \ud800 surrogate"), proposed("1.1", "x = '\udfff'"), ran("1.1", output)])
    path = tmp_path / "run.ipynb"
    trace = traced(path, records)
    trace.close()
    assert trace.problem is None
    assert [record.seq for record in load(path)] == [0, 1, 2]
    assert "lone ? surrogate" in path.read_text()


def test_an_incompletely_kept_run_can_be_resumed(tmp_path):
    path, records = tmp_path / "run.ipynb", complete_run()
    path.write_text(nbformat.writes(render(records[:6])))
    journaled(path, [*records[:8], *records[10:]])
    assert load(path) == [*records[:8], *records[10:-1]]


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_costs_nothing(tmp_path, score):
    begun = SubtaskStarted("1", (replace(api("networkx.Graph"), score=score),))
    trace = traced(tmp_path / "run.ipynb", recorded([started(), planned("Load"), begun, finished()]))
    trace.close()
    assert trace.problem is None
    assert names(tmp_path) == ["run.ipynb"]
    assert load(tmp_path / "run.ipynb")[2].event.apis[0].score == 0.0


def test_an_overwritten_notebook_is_reported(tmp_path):
    path = tmp_path / "run.ipynb"
    trace = traced(path, complete_run())
    path.write_text("{}")
    trace.close()
    assert "does not match what was written, so its journal is kept" in trace.problem
    assert load(path) == complete_run()


def test_the_default_path_is_free_beside_the_notebook(tmp_path):
    first = default_path(tmp_path / "mine.ipynb", "scikit-learn", NOW)
    second = default_path(tmp_path, "scikit-learn", NOW)
    assert first == tmp_path / "explorations" / "scikit-learn-20260304-050607.ipynb"
    assert second == tmp_path / "explorations" / "scikit-learn-20260304-050607-2.ipynb"
    traced(first, complete_run()).close()
    assert default_path(tmp_path, "scikit-learn", NOW).name == "scikit-learn-20260304-050607-3.ipynb"


@pytest.mark.parametrize("library", ["../../etc/passwd", "", "a/b", "..", "x" * 500, "é\n"])
def test_the_default_path_stays_in_its_folder(tmp_path, library):
    assert default_path(tmp_path, library, NOW).parent == tmp_path / "explorations"


def test_prepare_makes_an_empty_folder(tmp_path):
    path = prepare_path(tmp_path / "a" / "b" / "run.ipynb")
    assert names(tmp_path / "a" / "b") == []
    assert path.is_absolute()
    traced(path, complete_run()).close()
    assert prepare_path(path) == path


def test_home_and_relative_paths_are_as_expected(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    folder = tmp_path / "work"
    assert prepare_path(Path("~/runs/run.ipynb"), folder=folder) == tmp_path / "home" / "runs" / "run.ipynb"
    assert prepare_path(Path("runs/run.ipynb"), folder=folder) == folder / "runs" / "run.ipynb"
    assert prepare_path(tmp_path / "run.ipynb", folder=folder) == tmp_path / "run.ipynb"
    assert names(tmp_path) == ["home", "work"]


def test_prepare_refuses_in_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    (tmp_path / "folder.ipynb").mkdir()
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    mine = tmp_path / "mine.ipynb"
    mine.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    for path, words in [
        (tmp_path / "run.txt", "not the name of a notebook"),
        (file / "run.ipynb", "there is a file where a folder is needed"),
        (file / "deeper" / "run.ipynb", "there is a file where a folder is needed"),
        (tmp_path / "folder.ipynb", "is a folder"),
        (mine, "is not the trace of a run"),
        (Path("/proc/nowhere/run.ipynb"), "cannot be written"),
        (tmp_path / f"{'x' * 250}.ipynb", "cannot be written: File name too long"),
        (tmp_path / f"{'x' * 235}.ipynb", "cannot be written: File name too long"),
        (tmp_path / "a\0b.ipynb", "cannot be written: embedded null byte"),
        (ring / "run.ipynb", "cannot be written"),
        (Path("~nobody-of-this-name/run.ipynb"), "cannot be written"),
    ]:
        with pytest.raises(UsageError, match=words) as caught:
            prepare_path(path)
        assert caught.value.remedy
    with pytest.raises(UsageError, match="there is a file where a folder is needed"):
        default_path(file, "networkx", NOW)


def test_without_prompts_no_request_is_stored(tmp_path):
    path = tmp_path / "run.ipynb"
    reply = Message("assistant", "This was an earlier reply.")
    call = asked(reply="the reply", prompt="a secret question")
    exchange = replace(call.exchange, messages=(*call.exchange.messages, reply))
    records = recorded([started(settings={"view": {"prompts": False}}), replace(call, exchange=exchange), finished()])
    trace = traced(path, records)
    written = journal_path(path).read_text() if journal_path(path).exists() else ""
    trace.close()
    written += whole_text(path)
    assert trace.problem is None
    assert "a secret question" not in written
    assert "You explore." not in written
    kept = load(path)[1].event.exchange
    assert kept == replace(exchange, messages=(reply,))
    assert kept.replies == ("the reply",)
    assert find_problems(render(load(path))) == []
