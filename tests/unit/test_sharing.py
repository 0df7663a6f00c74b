"""What may be sent to the model."""

from dataclasses import replace

import pytest

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


def told(name, message):
    failed = replace(SEEN, observation=Observation("error", error=ErrorInfo(name, message, "secret")))
    [kept] = shared(SolveInputs(Task("t", ("m",)), (), (failed,)), "schema").experience
    return kept.observation.error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("KeyError", "Miller"),
        ("ValueError", "could not convert string to float: Miller"),
        ("JSONDecodeError", "Expecting value near Miller"),
        ("NameError", "Miller is unknown"),
        ("AttributeError", "no column Miller"),
        ("AttributeError", "'Series' object has no attribute 'Miller, Ann'"),
        ("TypeError", "unsupported value Miller"),
        ("TypeError", "f() got an unexpected keyword argument 'Miller, Ann'"),
        ("FileNotFoundError", "No such file: /home/Miller"),
    ],
)
def test_in_schema_a_message_that_may_hold_data_is_left_out(name, message):
    assert told(name, message) == ErrorInfo(name, "")


@pytest.mark.parametrize(
    ("name", "message", "kept"),
    [
        ("NameError", "name 'nx' is not defined. Did you mean: 'x'?", "name 'nx' is not defined"),
        ("AttributeError", "'Graph' object has no attribute 'size_'", "'Graph' object has no attribute 'size_'"),
        ("AttributeError", "module 'nx.sub' has no attribute 'f'", "module 'nx.sub' has no attribute 'f'"),
        ("ModuleNotFoundError", "No module named 'nx.sub'", "No module named 'nx.sub'"),
        ("ImportError", "cannot import name 'f' from 'nx' (/home/Miller/nx.py)", "cannot import name 'f' from 'nx'"),
        ("TypeError", "f() got an unexpected keyword argument 'n'", "f() got an unexpected keyword argument 'n'"),
        (
            "TypeError",
            "A.__init__() missing 2 required positional arguments: 'a' and 'b'",
            "A.__init__() missing 2 required positional arguments: 'a' and 'b'",
        ),
        (
            "TypeError",
            "f() takes 1 positional argument but 2 were given",
            "f() takes 1 positional argument but 2 were given",
        ),
    ],
)
def test_in_schema_a_message_about_code_is_kept(name, message, kept):
    assert told(name, message) == ErrorInfo(name, kept)


@pytest.mark.parametrize(
    "code",
    [
        "missing",
        "''.missing",
        "import math; math.missing",
        "int.missing",
        "import missing.more",
        "from math import missing",
    ]
    + [f"def f(a, *, b): pass\n{call}" for call in ("f(c=1)", "f(1)", "f(b=1)", "f(1, 2, b=1)", "f(1, a=1)")],
)
def test_the_forms_are_those_of_this_interpreter(code):
    with pytest.raises(Exception) as caught:
        exec(code, {})
    assert told(caught.type.__name__, str(caught.value)).message
