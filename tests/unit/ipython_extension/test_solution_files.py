"""The files that a solution wrote, from their event to the trace, the summary, the panel and the working directory."""

import json
from pathlib import Path

import jsonschema
import pytest

from exploracoder_jupyter.core.events import FilesKept, Record
from exploracoder_jupyter.core.run_state import RunState, fold, fold_all
from exploracoder_jupyter.ipython_extension.result_card.card import as_text, card_html
from exploracoder_jupyter.ipython_extension.user_variables import copy_files, describe_files
from exploracoder_jupyter.trace import render, summarize_run
from exploracoder_jupyter.trace.metadata import schema
from exploracoder_jupyter.trace.paths import files_path
from tests.unit.factories import complete_events, recorded


def run_with(*names):
    events = complete_events()
    return recorded([*events[:-1], FilesKept("/notes/explorations/run.files", names), events[-1]])


def solution_heading(notebook):
    return next(cell.source for cell in notebook.cells if cell.source.startswith("### Solution"))


def test_the_trace_names_them_in_words_and_metadata():
    notebook = render(run_with("a.csv", "out/b`<b>.png"))
    sentence = "The solution wrote 2 files, kept in <code>run.files</code>: <code>a.csv</code>, "
    assert sentence in solution_heading(notebook)
    facts = notebook.metadata.exploracoder_jupyter
    assert facts.files == {"folder": "/notes/explorations/run.files", "names": ["a.csv", "out/b`<b>.png"]}
    metadata = json.loads(json.dumps(facts))
    whole = schema()
    jsonschema.validate(metadata, {**whole["$defs"]["notebook"], "$defs": whole["$defs"]})


def test_many_files_are_cut_and_none_is_reported():
    assert "<code>f19</code> and 5 more." in solution_heading(render(run_with(*(f"f{n}" for n in range(25)))))
    assert "The solution wrote no files." in solution_heading(render(run_with()))
    assert "wrote" not in solution_heading(render(recorded(complete_events())))


def test_the_end_states_isolation_and_start():
    notebook = render(recorded(complete_events()))
    assert "- Isolation: bubblewrap; state fresh: Windows has no fork; branching: rerun" in notebook.cells[-1].source


def test_the_summary_has_their_paths():
    assert summarize_run(fold_all(run_with("a.csv")))["files"] == [str(Path("/notes/explorations/run.files/a.csv"))]


def test_the_panel_shows_how_many_and_where():
    state = fold_all(run_with("a<b>.csv"))
    sentence = "The solution wrote 1 file, kept in /notes/explorations/run.files; see %explora files."
    assert sentence in as_text(state, 0.0)
    assert sentence in card_html(state, 0.0)
    assert "The solution wrote" not in as_text(fold(RunState(), Record(1, 0.0, FilesKept("f", ()))), 0.0)


def test_the_folder_beside_a_trace_is_new(tmp_path):
    trace = tmp_path / "run.ipynb"
    assert files_path(trace) == tmp_path / "run.files"
    (tmp_path / "run.files").mkdir()
    assert files_path(trace) == tmp_path / "run-2.files"


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "run.files"
    (folder / "out").mkdir(parents=True)
    (folder / "a.csv").write_text("theirs")
    (folder / "out" / "b.csv").write_text("theirs")
    return FilesKept(str(folder), ("a.csv", "out/b.csv"))


def test_they_are_listed(kept):
    description = describe_files(kept)
    assert description.splitlines()[:3] == [f"In {kept.folder}:", "  a.csv", "  out/b.csv"]
    assert describe_files(FilesKept("f", ())) == "The solution wrote no files."


def test_they_are_copied_and_nothing_is_overwritten(kept, tmp_path):
    into = tmp_path / "work"
    into.mkdir()
    (into / "a.csv").write_text("mine")
    report = copy_files(kept, into)
    assert (into / "a.csv").read_text() == "mine"
    assert (into / "out" / "b.csv").read_text() == "theirs"
    assert report.splitlines() == [
        f"Copied into {into}:",
        "  out/b.csv",
        "Not copied:",
        "  a.csv: already exists",
    ]
    assert copy_files(kept, into).splitlines()[0] == "Nothing was copied."


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped-absolutely", "out/../../escaped"])
def test_a_name_that_leads_elsewhere_is_not_followed(kept, tmp_path, name):
    into = tmp_path / "work"
    into.mkdir()
    assert "is outside the folder" in copy_files(FilesKept(kept.folder, (name,)), into)
    assert list(into.iterdir()) == []


def test_links_are_not_copied_and_obstacles_stay(kept, tmp_path):
    into = tmp_path / "work"
    into.mkdir()
    (into / "out").write_text("mine")
    Path(kept.folder, "link").symlink_to("/etc/hostname")
    report = copy_files(FilesKept(kept.folder, (*kept.files, "link")), into)
    assert "link: is a link" in report
    assert (into / "out").read_text() == "mine"
    assert not (into / "link").exists()
