"""What a heading tells of the candidates, in one line."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.events import SubtaskStarted
from exploracoder_jupyter.notebook import CellView, ours
from tests.unit.factories import failed, planned, proposed, ran, recorded, started


def heading(observed, *, code="x"):
    view = CellView()
    begun = (started(), planned("Write a file"), SubtaskStarted("1", ()), proposed(observed.candidate, code))
    for record in recorded([*begun, observed]):
        view.apply(record)
    return next(cell["source"] for cell in view.cells if (found := ours(cell)) and found["role"] == "subtask")


def wrote(observed, *files):
    return replace(observed, observation=replace(observed.observation, files=files))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "Tried: **1.1** ran."),
        (("out.csv",), "Tried: **1.1** ran, wrote <code>out.csv</code>."),
        (("out/a.csv", "out/b.csv", "c.png"), "Tried: **1.1** ran, wrote <code>out/a.csv</code> and 2 more."),
    ],
)
def test_files_that_a_candidate_wrote_are_named_in_one_clause(files, words):
    assert words in heading(wrote(ran("1.1"), *files))


def test_a_candidate_that_failed_may_have_written_too():
    assert "failed (KeyError: 'x'), wrote <code>out.csv</code>." in heading(wrote(failed("1.1"), "out.csv"))


def test_a_name_of_a_file_is_no_markup():
    assert "wrote <code>&lt;b&gt;x&lt;/b&gt;</code>" in heading(wrote(ran("1.1"), "<b>x</b>"))
