"""What leaves the recorder of a run, to its trace, its listener or its caller, contains no secrets."""

import getpass
from pathlib import Path

import pytest

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.events import Progress, dump
from exploracoder_jupyter.trace import journal_path
from tests.unit.runs.recorders import recorder_at
from tests.unit.trace.test_redaction import OF_PERSON, PLANTED, TRACES, everywhere
from tests.unit.trace.views import whole_text

HIDDEN = ["hunter2-hunter2", "pass\\'word", 'a"b\\c-secret-é']


@pytest.fixture(autouse=True)
def _mine(monkeypatch):
    """A user whose home is not where homes are."""
    monkeypatch.setattr(Path, "home", lambda: Path("/lustre/groups/mariachen-lab"))
    monkeypatch.setattr(getpass, "getuser", lambda: "mariachen")


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_that_was_planted_in_any_string_of_a_run_is_written_or_shown(tmp_path, name):
    path, shown = tmp_path / "run.ipynb", []
    recorder = recorder_at(path, tmp_path, shown.append, hidden=HIDDEN)
    for record in everywhere(PLANTED[name]):
        recorder(record.event)
    written = journal_path(path).read_text()
    recorder.close()
    written += whole_text(path)
    assert recorder.problem is None
    assert written.count(" (") > 200
    assert not [left for left in TRACES if left in written]
    if name not in OF_PERSON:
        assert not [left for left in TRACES if left in "".join(map(dump, shown))]


def test_progress_and_the_error_that_ends_a_run_are_shown_without_secrets(tmp_path):
    shown = []
    recorder = recorder_at(tmp_path / "run.ipynb", tmp_path, shown.append, hidden=HIDDEN)
    recorder.advance("The server sent hunter2-hunter2; retrying", 0, 0)
    failure = recorder.fail(EndpointError("It sent hunter2-hunter2.", remedy="Not hunter2-hunter2."))
    recorder.close()
    assert [record.event for record in shown] == [Progress("The server sent [redacted]; retrying", 0, 0)]
    assert isinstance(failure, EndpointError)
    assert str(failure) == "It sent [redacted]. Not [redacted]."
