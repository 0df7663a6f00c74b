"""The state of a run, from which every view of it is rendered."""

from exploracoder_jupyter.core.events import CandidateSelected, ReviewAsked, Steered, SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.core.run_state import SOLUTION, fold_all, with_failure, with_summary
from exploracoder_jupyter.core.types import Observation, Selection
from exploracoder_jupyter.trace.cells import SanitizedOutputs
from tests.unit.factories import complete_run, failed, finished, planned, proposed, ran, recorded, started, stream

BEGUN = (started(), planned("a", "b"), SubtaskStarted("1", ()), proposed("1.1", "x = 1"))


def after(*events):
    return fold_all(recorded([*BEGUN, *events]))


def test_what_ran_at_the_end_is_unfinished():
    [attempt] = after(Steered("retry", "1")).planned[0].candidates
    assert (attempt.state, attempt.era) == ("not finished", 0)
    for ended in (after(finished("stopped", None)), with_failure(after(), "It was killed.", at=2e9)):
        assert [one.state for one in ended.planned[0].candidates] == ["not finished"]
    assert [one.state for one in after(Steered("retry", "1"), ran("1.1")).planned[0].candidates] == ["ok"]


def test_a_skipped_subtask_carries_nothing_forward():
    skipped = after(ran("1.1"), CandidateSelected(Selection("1", "1.1", ())), SubtaskFinished("1", "skipped"))
    assert (skipped.planned[0].status, skipped.planned[0].selected) == ("skipped", None)


def test_a_dropped_subtask_stays_recorded():
    revised = after(failed("1.1"), SubtaskFinished("1", "failed"), planned("c", revision=1))
    assert [section.id for section in revised.planned] == ["1"]
    dropped = after(planned("a", "b", "c"), SubtaskStarted("3", ()), planned("a", "b", revision=1))
    assert [section.id for section in dropped.planned] == ["1", "2"]
    assert [section.id for section in dropped.subtasks] == ["1", "2", "3"]


def test_exploring_the_solution_again_is_ignored():
    before = (proposed("s1", "x"), failed("s1"))
    assert after(*before, Steered("retry", SOLUTION)).sections == after(*before).sections


def test_a_review_ends_with_the_run():
    waiting = after(ReviewAsked())
    assert waiting.reviewing and not after(ReviewAsked(), finished("stopped", None)).reviewing
    assert not with_failure(waiting, "It was killed.", at=2e9).reviewing


def test_a_summary_adds_only_the_trace():
    state = fold_all(complete_run())
    summary = {"status": "stopped", "reason": "", "solution": None, "trace": "a.ipynb"}
    assert with_summary(state, summary).trace == "a.ipynb"
    assert with_summary(state, summary).finished is state.finished


def test_outputs_are_sanitized_once_with_error_and_note():
    sanitized = SanitizedOutputs()
    seen = ran("1.1", stream("done\n")).observation
    assert sanitized(seen) is sanitized(seen)
    crashed = failed("1.1", "KeyError", "'x'", shown=False).observation
    assert [output["output_type"] for output in sanitized(crashed)] == ["error"]
    [note] = sanitized(Observation("timeout", note="did not finish within 3 s"))
    assert note["text"] == "[did not finish within 3 s]\n"
    assert sanitized(None) == ()
