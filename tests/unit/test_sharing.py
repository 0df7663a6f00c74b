"""What may be sent to the model."""

from exploracoder_jupyter.pipeline.prompts import render
from exploracoder_jupyter.pipeline.requests import DebugInputs, SolveInputs
from exploracoder_jupyter.pipeline.sharing import shared
from exploracoder_jupyter.types import Candidate, ErrorInfo, Experience, Observation, Subtask, Task

SEEN = Experience(
    Subtask("1", "load"),
    Candidate("1.1", "1", "df = load()"),
    Observation(
        "error",
        text="secret row 4711",
        error=ErrorInfo("KeyError", "'patient 4711' at 12.5", "Traceback: patient 4711"),
    ),
)
RAN = Experience(
    SEEN.subtask,
    Candidate("1.2", "1", "df = load(1)"),
    Observation("ok", text="secret row 4711", names=(("df", "pandas.DataFrame"),)),
)


def prompt(level):
    inputs = SolveInputs(Task("t", ("m",)), (), (SEEN, RAN))
    told = "".join(m.content for m in render("solve", shared(inputs, level)))
    failed = shared(DebugInputs(Task("t", ("m",)), SEEN.subtask, (), (), SEEN), level)
    return told + "".join(m.content for m in render("debug", failed))


def test_values_are_sent_only_when_allowed():
    assert "4711" in prompt("values")
    assert "4711" not in prompt("schema")
    assert "12.5" not in prompt("schema")
    assert "4711" not in prompt("none")


def test_schema_keeps_names_types_and_the_kind_of_error_none_only_that_it_failed():
    assert "df: pandas.DataFrame" in prompt("schema")
    assert "KeyError" in prompt("schema")
    assert "DataFrame" not in prompt("none")
    assert "It failed" in prompt("none")
