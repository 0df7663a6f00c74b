"""What may be sent to the model."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import (
    Candidate,
    Change,
    ErrorInfo,
    Experience,
    Introduction,
    Observation,
    Passage,
    Subtask,
    Task,
)
from exploracoder_jupyter.pipeline.prompting.observations import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import (
    DebugInputs,
    ExplainInputs,
    InventInputs,
    JudgeInputs,
    ProposeInputs,
    RecommendInputs,
    RepairInputs,
    SolveInputs,
    StrategyInputs,
)
from exploracoder_jupyter.pipeline.prompting.requests import render

SCHEMA = """KeyError
  line 1 of the cell: df = load(rows["x"])
    failed in: rows['x']
    rows['x']: list
  load, line 7 of mine.py: return known['4711']
    failed in: known['4711']
    known['4711']: str
  check, line 2 of the cell: assert df.one == 4711
  in lib/core.py get, line 12 (the last of 2 frames of libraries)
Caused by ValueError
  line 1:
    x = 4711 +
            ^"""
SEEN = Experience(
    Subtask("1", "load"),
    Candidate("1.1", "1", "df = load(rows['x'])"),
    Observation(
        "error",
        text="secret row 4711",
        outputs=({"output_type": "stream", "name": "stdout", "text": "4711"},),
        error=ErrorInfo(
            "KeyError",
            "'patient 4711' at 12.5",
            "Traceback: patient 4711",
            report="KeyError: 'patient 4711'\n  rows: list [4711]",
            schema=SCHEMA,
            nearest=("column 'age'",),
        ),
        schema="[printed 4 characters in 1 line]",
        warnings=("UserWarning: patient 4711", "patient 4711"),
        logs=("WARNING lib: patient 4711",),
    ),
)
RAN = Experience(
    SEEN.subtask,
    Candidate("1.2", "1", "df = load(1)"),
    Observation(
        "ok",
        text="secret row 4711",
        schema="[printed 15 characters in 1 line]",
        names=(("df", "pandas.DataFrame"),),
        changes=(
            Change("df", "rebound", "pandas.DataFrame", "frame of patient 4711", "frame with column age", "2 x 1"),
            Change("n", "new", "int", "int: 4711", "int"),
            Change("odd", "new", "lib.Odd", "odd: 4711", ""),
        ),
        warnings=("lib.OldWarning: 4711", "lib.OldWarning: 4712"),
        logs=("WARNING lib: patient 4711",),
        files=("out.csv",),
        memory=80_000_000,
    ),
)
TASK = Task("t", ("m",))
DISTINCT = "patient 4711"


def inputs():
    """One of every kind that experience goes into."""
    seen, subtask = (SEEN, RAN), SEEN.subtask
    return {
        "recommend": RecommendInputs(TASK, subtask, (), (), seen, True),
        "propose": ProposeInputs(TASK, subtask, Introduction("m"), (), seen),
        "debug": DebugInputs(TASK, subtask, (), seen, SEEN),
        "explain": ExplainInputs(TASK, subtask, SEEN),
        "solve": SolveInputs(TASK, (), seen),
        "repair": RepairInputs(TASK, (), seen, seen),
        "invent": InventInputs(TASK, SEEN, 3),
        "judge": JudgeInputs(TASK, (), seen, SEEN, (SEEN, RAN)),
        "strategy": StrategyInputs("exploracoder_jupyter.strategies:example_repair", TASK, experience=seen),
    }


def prompt(level):
    rendered = (render(step, redact_inputs(values, level)) for step, values in inputs().items())
    return "".join(message.content for messages in rendered for message in messages)


def test_schema_keeps_what_is_known_without_values():
    text = prompt("schema")
    for kept in (
        "[printed 15 characters in 1 line]",
        "- df (rebound, before: 2 x 1): pandas.DataFrame: frame with column age",
        "- n (new): int",
        "- odd (new): lib.Odd",
        "- lib.OldWarning",
        "- UserWarning",
        "- a warning",
        "Files written: out.csv",
        "grew by 80 MB",
        "column 'age'",
    ):
        assert kept in text
    assert "4712" not in text and "patient" not in text and "WARNING" not in text


def test_schema_keeps_the_code_of_a_report():
    assert redact_inputs(SolveInputs(TASK, (), (SEEN,)), "schema").experience[0].observation.error.report == (
        """KeyError
  line 1 of the cell: df = load(rows["x"])
    failed in: rows['x']
    rows['x']: list
  load, line 7 of mine.py
  check, line 2 of the cell
  in lib/core.py get, line 12 (the last of 2 frames of libraries)
Caused by ValueError
  line 1:
            ^"""
    )


def test_none_keeps_nothing_but_whether_it_ran():
    text = prompt("none")
    for gone in ("printed", "frame with", "column", "Warning", "out.csv", "line 1 of", "grew"):
        assert gone not in text


def filtered_error(name, message, code="df = load(rows['x'])"):
    candidate = replace(SEEN.candidate, code=code)
    failed = replace(
        SEEN, candidate=candidate, observation=Observation("error", error=ErrorInfo(name, message, "secret"))
    )
    [kept] = redact_inputs(SolveInputs(Task("t", ("m",)), (), (failed,)), "schema").experience
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
def test_schema_drops_messages_that_may_hold_data(name, message):
    assert filtered_error(name, message) == ErrorInfo(name, "")


@pytest.mark.parametrize(
    ("name", "message", "kept"),
    [
        ("NameError", "name 'nx' is not defined. Did you mean: 'x'?", "name 'nx' is not defined"),
        ("AttributeError", "'Graph' object has no attribute 'size_'", ""),
        ("AttributeError", "module 'nx.sub' has no attribute 'f'", ""),
        ("ModuleNotFoundError", "No module named 'nx.sub'", ""),
        ("ImportError", "cannot import name 'f' from 'nx' (/home/Miller/nx.py)", "cannot import name 'f' from 'nx'"),
        ("TypeError", "f() got an unexpected keyword argument 'n'", ""),
        ("TypeError", "A.__init__() missing 2 required positional arguments: 'a' and 'b'", ""),
        ("TypeError", "f() takes 1 positional argument but 2 were given", ""),
    ],
)
def test_in_schema_a_message_about_code_is_kept(name, message, kept):
    """All of it, if not the part given here."""
    kept = kept or message
    assert filtered_error(name, message, "nx.size_(n=1); import nx.sub; nx.sub.f()") == ErrorInfo(name, kept)


@pytest.mark.parametrize(
    ("name", "message", "code", "kept"),
    [
        (
            "TypeError",
            "K.__init__() got an unexpected keyword argument 'Miller'",
            "K(**row)",
            "K.__init__() got an unexpected keyword argument '...'",
        ),
        (
            "AttributeError",
            "'Config' object has no attribute 'Miller'",
            "getattr(cfg, key)",
            "'Config' object has no attribute '...'",
        ),
        ("AttributeError", "module 'lib' has no attribute 'M'", "f(Miller)", "module 'lib' has no attribute '...'"),
        ("ModuleNotFoundError", "No module named 'Miller'", "import_module(key)", "No module named '...'"),
        ("NameError", "name 'Miller' is not defined", "eval(key)", "name '...' is not defined"),
    ],
)
def test_schema_drops_names_outside_the_code(name, message, code, kept):
    assert filtered_error(name, message, code) == ErrorInfo(name, kept)


@pytest.mark.parametrize("level", ["schema", "none"])
def test_files_of_the_user_stay_below_values(level):
    file, page = (Passage(source, "t", "patient 4711", "o") for source in ("workspace", "documentation"))
    values = SolveInputs(TASK, (), (), (file, page))
    assert redact_inputs(values, level).passages == (page,)
    assert redact_inputs(values, "values").passages == (file, page)


@pytest.mark.parametrize("step", inputs())
def test_a_value_only_in_data_is_never_prompted(step):
    def sent(level):
        return "".join(message.content for message in render(step, redact_inputs(inputs()[step], level)))

    assert DISTINCT in sent("values") and DISTINCT not in sent("schema") + sent("none")


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
    assert filtered_error(caught.type.__name__, str(caught.value)).message
