"""What correctness testing shows: a cell for each input with its judgement, the program last; and in the summary."""

import jsonschema

from exploracoder_jupyter.cli.live_view import EventLines
from exploracoder_jupyter.core.events import (
    CandidateSelected,
    InputsInvented,
    SolutionJudged,
    SolutionTested,
    SubtaskFinished,
)
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.core.types import (
    ErrorInfo,
    InputRun,
    InventedInput,
    Judgement,
    Observation,
    Opinion,
    Selection,
)
from exploracoder_jupyter.ipython_extension.browser.browser_run import RunContext, run_view
from exploracoder_jupyter.trace import generated_metadata, render
from exploracoder_jupyter.trace.metadata import schema
from exploracoder_jupyter.trace.reading import summarize_run
from tests.unit.factories import finished, planned, proposed, ran, recorded, started, states, stream
from tests.unit.trace.views import roles, with_role

SCHEMA = jsonschema.Draft202012Validator(schema())

INPUTS = InputsInvented(
    (
        InventedInput("t1", "NaN in both rows", "df = frame()", "differing(df)"),
        InventedInput("t2", "<b>no</b> row", "", "differing(None)"),
        InventedInput("t3", "broken", "1 / 0", "differing(1)"),
    )
)
FAILED = Observation("error", error=ErrorInfo("TypeError", "no row", "TypeError: no row"), seconds=0.5)


def a_trial(id, text):
    shown = Observation("ok", (stream(text),), text=text, seconds=0.25)
    return SolutionTested(id, (InputRun("t1", shown), InputRun("t2", FAILED), InputRun("t3", FAILED, usable=False)))


def judged(id, ruling, reason=""):
    named = (Opinion("t1", ruling, reason), Opinion("t2", "right", "it says <i>so</i>"))
    return SolutionJudged(id, Judgement(ruling, reason, named))


def run(*, kept="s2", view="all"):
    return [
        started(settings={"view": {"show": view}}),
        planned("Compare"),
        SubtaskFinished("1", "done"),
        proposed("s1", "naive"),
        ran("s1", stream("naive\n")),
        INPUTS,
        a_trial("s1", "[(nan, nan)]\n"),
        judged("s1", "wrong", "NaN is paired with NaN."),
        proposed("s2", "sound", round=1, repairs="s1"),
        ran("s2"),
        a_trial("s2", "[]\n"),
        judged("s2", "right"),
        CandidateSelected(Selection("solution", kept, ("ran", "judged right on 1 generated input"))),
        finished(
            code="sound" if kept == "s2" else "naive", candidate=kept, reason="Judged right on 1 generated input."
        ),
    ]


def test_inputs_stand_before_the_solution():
    notebook = render(recorded(run()))
    assert roles(notebook)[3:] == [
        ("subtask", ""),
        ("candidate", "s1"),
        *[("test", "s1")] * 3,
        ("judgement", "s1"),
        *[("test", "s2")] * 3,
        ("judgement", "s2"),
        ("solution", "s2"),
        ("summary", ""),
    ]
    for cell in notebook.cells:
        SCHEMA.validate(generated_metadata(cell))


def test_a_test_cell_shows_input_and_output():
    cell = with_role(render(recorded(run())).cells, "test")[0]
    assert cell.source == "%%explored s1-t1\n# NaN in both rows\ndf = frame()\n# here s1 runs, as above\ndiffering(df)"
    assert cell.outputs == [stream("[(nan, nan)]\n")]
    assert {"skip-execution", "explora-candidate"} <= set(cell.metadata.tags)
    mark = generated_metadata(cell)
    assert (mark["input"], mark["status"], mark["judged"], mark["selected"]) == ("t1", "ok", "wrong", False)
    assert cell.metadata.jupyter.outputs_hidden


def test_a_failed_input_shows_its_error():
    _, failed, broken = with_role(render(recorded(run())).cells, "test")[3:]
    assert failed.outputs[0].ename == "TypeError"
    assert (generated_metadata(failed)["status"], generated_metadata(failed)["judged"]) == ("error", "right")
    assert "judged" not in generated_metadata(broken)
    assert "jupyter" not in failed.metadata


def test_each_round_is_judged_in_plain_words():
    first, second = (cell.source for cell in with_role(render(recorded(run())).cells, "judgement"))
    assert first.startswith("**Solution s1** judged by its outputs: **✗ wrong**: NaN is paired with NaN.\n")
    assert "- NaN in both rows: ✗ wrong" in first
    assert "broken: left out, because the input itself fails" in first
    assert "<b>" not in first and "<i>" not in first
    assert "**✓ right**" in second


def test_a_missing_judgement_is_reported():
    events = [event for event in run() if event.kind != "solution_judged"]
    [first, _] = (cell.source for cell in with_role(render(recorded(events)).cells, "judgement"))
    assert first == "**Solution s1** was run on generated inputs, but not judged."
    under_way = events[: next(i for i, event in enumerate(events) if event.kind == "solution_tested") + 1]
    [cell] = with_role(render(recorded(under_way)).cells, "judgement")
    assert cell.source == "**Solution s1** is being judged by its outputs."


def test_the_summary_lists_the_inputs_of_the_solution():
    assert summarize_run(fold_all(recorded(run())))["tests"] == [
        {"title": "NaN in both rows", "status": "ok", "judged": "right"},
        {"title": "<b>no</b> row", "status": "error", "judged": "right"},
        {"title": "broken", "status": "unusable", "judged": None},
    ]
    assert summarize_run(fold_all(recorded(run()[:5])))["tests"] == []


def test_the_panel_and_the_sidebar_follow():
    after = states(recorded(run()))
    activities = [state.activity for state in after]
    assert "Testing the solution on 3 generated inputs." in activities
    assert "Judging the outputs of solution s1." in activities
    assert "Solution s1 is judged wrong: NaN is paired with NaN." in activities
    view = run_view(after[-1], RunContext("k", None, None))
    assert [one.line for one in view.solution.candidates] == ["judged wrong: NaN is paired with NaN", "judged right"]


def test_the_command_line_reports_each_step():
    lines = []
    take = EventLines(lines.append)
    for record in recorded(run()):
        take(record)
    text = "\n".join(lines)
    assert "NaN in both rows; <b>no</b> row; broken." in text
    assert "Solution s1 ran to its end on 1 of 3 generated inputs." in text
    assert "Solution s1 was judged wrong: NaN is paired with NaN." in text
