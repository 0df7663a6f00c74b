"""Edits of a trace are reported by cell; what a person may do to a notebook is ignored."""

import copy
import json

import nbformat
import pytest

from exploracoder_jupyter.trace import render
from exploracoder_jupyter.trace.cells import source_hash
from exploracoder_jupyter.trace.edits import edited_cell_names, find_edited_cells
from tests.unit.factories import complete_run
from tests.unit.trace.views import facts

RECORDS = complete_run()


@pytest.fixture
def notebook():
    return nbformat.from_dict(json.loads(json.dumps(render(RECORDS))))


def cell(notebook, role, **mark):
    """The cell of this role and these marks."""
    marks = [(one, one.metadata.get("exploracoder_jupyter", {})) for one in notebook.cells]
    [found] = [one for one, metadata in marks if {"role": role, **mark}.items() <= metadata.items()]
    return found


def candidate(notebook, id_):
    return cell(notebook, "candidate", candidate=id_)


def edited(notebook):
    return find_edited_cells(notebook, RECORDS)


def test_an_untouched_trace_is_unedited(notebook):
    assert edited(notebook) == {}


@pytest.mark.parametrize("first", [True, False])
def test_an_altered_copy_of_a_cell_is_reported(notebook, first):
    other = copy.deepcopy(candidate(notebook, "2.1r1"))
    other.outputs[0].text = "46\n"
    place = notebook.cells.index(candidate(notebook, "2.1r1"))
    notebook.cells.insert(place + (not first), other)
    assert edited(notebook)["2.1r1"].startswith("its outputs were edited")


@pytest.mark.parametrize(
    ("mark", "found"),
    [
        ({}, {}),
        ({"candidate": "2.9"}, {"2.9": "the run has no such cell"}),
        ({"run_id": "89abcdef", "candidate": "7.1"}, {}),
    ],
    ids=["a copy", "never run", "of another run"],
)
def test_an_added_cell_is_named(notebook, mark, found):
    other = copy.deepcopy(candidate(notebook, "2.1r1"))
    other.metadata.exploracoder_jupyter.update(mark)
    notebook.cells.append(other)
    assert edited(notebook) == found


def test_cells_that_changed_places_are_named(notebook):
    one, other = (notebook.cells.index(candidate(notebook, id_)) for id_ in ("1.1", "2.1r1"))
    notebook.cells[one], notebook.cells[other] = notebook.cells[other], notebook.cells[one]
    assert {name for name, why in edited(notebook).items() if why == "its cell was moved"} == {"1.1", "2.1r1"}


@pytest.mark.parametrize(("name", "value"), [("selected", True), ("status", "ok"), ("seconds", 99.0), ("round", 3)])
def test_what_a_cell_says_of_itself_counts(notebook, name, value):
    candidate(notebook, "1.1").metadata.exploracoder_jupyter[name] = value
    assert edited(notebook) == {"1.1": f"its metadata was edited: {name}"}


def test_the_loading_cell_loads_only_the_extension(notebook):
    cell(notebook, "setup").source += "\nimport os"
    assert edited(notebook) == {"setup": "its code was edited"}


def test_a_cell_that_no_longer_runs_is_named(notebook):
    one = candidate(notebook, "1.1")
    one.cell_type = "markdown"
    assert edited(notebook)["1.1"] == "it is a cell of another type"


@pytest.mark.parametrize(
    ("fact", "change"),
    [
        ("verdict", lambda facts: facts.verdict.update(outcome="unsolved")),
        ("libraries", lambda facts: facts.libraries[0].update(version="9.9")),
        ("environment", lambda facts: facts.environment.update(python="3.99")),
        ("environment", lambda facts: facts.environment.packages.append("evil==1.0")),
        ("task", lambda facts: facts.task.update(text="Do something else.")),
        ("model", lambda facts: facts.update(model="a better one")),
    ],
)
def test_the_notebook_says_what_its_records_say(notebook, fact, change):
    change(facts(notebook))
    assert edited(notebook) == {"notebook": f"its metadata about the run was edited: {fact}"}


def test_edited_text_is_reported_with_its_line(notebook):
    cell(notebook, "summary").source += "\n- Mine"
    assert edited(notebook) == {"summary": "its text was edited: nothing -> - Mine"}


@pytest.mark.parametrize("line", ["As it was told before.", "In /home/somebody/there."])
def test_changed_wording_of_releases_is_not_editing(notebook, line):
    plan = cell(notebook, "plan")
    plan.source = f"{plan.source}\n{line}"
    plan.metadata.exploracoder_jupyter.source_hash = source_hash(plan.source)
    assert edited(notebook) == {}


def test_other_versions_sentences_are_not_differences(notebook):
    facts(notebook).environment.moon = "full"
    del facts(notebook)["usage"]
    assert edited(notebook) == {}


def test_edited_cells_of_any_notebook_are_reported(notebook):
    assert edited_cell_names(notebook) == ()
    candidate(notebook, "1.1").source += "\n1"
    assert edited_cell_names(notebook) == ("1.1",)
