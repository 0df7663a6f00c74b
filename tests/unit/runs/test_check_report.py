"""What a check says at its end, and what it asks of a trace before it begins."""

from pathlib import Path

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.runs.trace_check import re_execution
from exploracoder_jupyter.runs.trace_check.check_report import Report, Row, changed_calls
from exploracoder_jupyter.runs.trace_check.checked_trace import read_code
from exploracoder_jupyter.runs.trace_check.re_execution import with_ancestors
from exploracoder_jupyter.trace.reading import Execution
from exploracoder_jupyter.trace.redaction import Homes
from tests.unit.factories import stream


def ran(id_, *apis, parent=""):
    return Execution(id_, "candidate", "", Observation("ok"), parent, apis)


def sentence(*rows, calls=()):
    return Report(rows, {}, {}, (), calls).sentence


def test_a_call_counts_that_only_changed_cells_make():
    executions = [ran("1.1", "a.b", "a.c"), ran("1.2", "a.c"), ran("1.3", "a.d")]
    rows = [Row("1.1", "changed"), Row("1.2", "same"), Row("1.3", "varies")]
    assert changed_calls(rows, executions) == ("a.b",)


def test_calls_in_a_changed_state_are_not_blamed():
    executions = [ran("1.1", "a.b"), ran("2.1", "a.c", parent="1.1")]
    assert changed_calls([Row("1.1", "changed"), Row("2.1", "changed")], executions) == ("a.b",)


def test_the_sentence_counts_what_differs_and_names_calls():
    assert sentence(Row("1.1", "same")) == "Same: it still shows what is recorded."
    assert sentence(Row("1.1", "same"), Row("1.2", "same")) == "Same: all 2 still show what is recorded."
    assert "1 of them varies from" in sentence(Row("1.1", "varies"), Row("1.2", "same"))
    rows = [Row("1.1", "changed"), Row("1.2", "edited"), Row("1.3", "not run")]
    assert sentence(*rows, calls=("a.b",)) == (
        "Different: of 3, 1 changed, 1 edited, 1 could not be run. This call changed: a.b."
    )
    assert sentence(rows[0], calls=("a.b", "a.c")).endswith("These 2 calls changed: a.b, a.c.")


def test_what_was_unexecuted_then_is_not_a_difference():
    report = Report((Row("1.1", "not run", counts=False), Row("1.2", "same")), {}, {}, (), ())
    assert report.same
    assert report.plain()["cells"][0]["same"] is True
    assert report.sentence == "Same: it still shows what is recorded (1 more had never run)."


def test_executing_something_takes_all_that_it_starts_from():
    every = [ran("1.1"), ran("1.2"), ran("2.1", parent="1.2"), ran("3.1", parent="2.1")]
    assert [one.id for one in with_ancestors(["3.1"], every)] == ["1.2", "2.1", "3.1"]


@pytest.mark.parametrize("text", ["def :", b"\xff\xfe\x00"])
def test_setup_code_must_be_python(tmp_path, text):
    path = tmp_path / "before.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match="--before"):
        read_code(path)


def shows(text):
    return Observation("ok", (stream(text),))


def text_of(observation):
    return observation.outputs[0]["text"]


def test_paths_of_the_working_directory_are_relative():
    now = shows("/new/here/old/lamp.py and /new/here and /new/hereafter")
    assert text_of(re_execution.make_relative(now, "/new/here")) == "old/lamp.py and . and /new/hereafter"
    found = re_execution.relative_paths([now], "/new/here")
    assert found == {"old/lamp.py"}
    for before in ("~/there/old/lamp.py", "/a/b/old/lamp.py", "old/lamp.py"):
        assert text_of(re_execution.make_known_relative(shows(before), found)) == "old/lamp.py"
    assert text_of(re_execution.make_known_relative(shows("/a/bold/lamp.py"), found)) == "/a/bold/lamp.py"


@pytest.mark.parametrize(
    "code",
    [
        "open('/home/somebody/x')",
        "create_engine('sqlite:////home/somebody/x.db')",
        "urlopen('file:///home/somebody/x')",
        "!cp /home/somebody/x /home/somebody/y",
        "PATH = '/home/somebody/bin:/home/somebody/.local/bin'",
        'text = """\n/home/somebody/x\n"""',
        r"print('a\n/home/somebody/x')",
        "f'{a}~/x' + 'b~/c' + r'~\\d'",
    ],
)
def test_code_with_a_redacted_home_counts_as_unchanged(monkeypatch, code):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/somebody"))
    assert re_execution.expand_home(Homes(["/home/somebody"]).redact(code)) == code
