"""Events survive the journey through JSON."""

from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.types import Candidate, ErrorInfo, Observation, Usage

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(TEXT, TEXT, st.floats(0, 1e9), st.sampled_from(["ok", "error", "timeout", "died"]))
def test_records_come_back_equal(code, message, seconds, status):
    output = {"output_type": "stream", "name": "stdout", "text": message}
    observation = Observation(status, (output,), ErrorInfo("E", message), message, seconds, (("x", code),))
    for event in (events.CandidateProposed(Candidate("1.1", "1", code)), events.CandidateObserved("1.1", observation)):
        record = events.Record(3, 1.5, event)
        line = events.dump(record)
        assert "\n" not in line
        assert events.load(line) == record


def test_unknown_fields_of_newer_versions_are_ignored():
    line = '{"seq":1,"at":2.0,"event":{"kind":"notice","text":"hello","level":"info","shiny":1},"more":2}'
    assert events.load(line).event == events.Notice("hello")


def test_usage_adds_up():
    total = Usage(1, 10, 5, 0.5, 2) + Usage(2, 1, 1, 0.5, 1)
    assert (total.calls, total.tokens, total.executions) == (3, 17, 3)
