"""The result card: what it says during a run and after its end, as text and as HTML."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nh3
import pytest

from exploracoder_jupyter.core.events import CandidateObserved
from exploracoder_jupyter.core.run_state import RunState, with_failure, with_summary
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.ipython_extension.result_card.card_html import card_bundle
from exploracoder_jupyter.trace.cells.cell_outputs import solution_outputs
from tests.unit.factories import complete_events, finished, ran, recorded, shown, states, stream

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FIRE = "window.canary = 1"


def final(*outputs, outcome="solved"):
    """The state after a run whose solution showed this."""
    events = [ran("s2", *outputs) if getattr(event, "candidate", "") == "s2" else event for event in complete_events()]
    *_, state = states(recorded([*events[:-1], finished(outcome)]))
    return replace(state, solution_outputs=solution_outputs(state), trace="explorations/a.ipynb")


def card(state, **options):
    return card_bundle(state, state.now, **{"cells": True, "in_page": True, **options})


class Elements(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def visible(html):
    """The words of the page."""
    return nh3.clean(html, tags=set())


def test_the_card_of_a_run_that_ended_has_verdict_solution_output_and_cost():
    bundle = card(final(stream("the end\n")))
    for words in (bundle["text/plain"], visible(bundle["text/html"])):
        assert "Solved." in words and "print('the end')" in words and "the end\n" in words.replace("6 tries", "\n")
        assert "6 tries, 3 failed" in words and "600 tokens" in words and "explorations/a.ipynb" in words
        assert "Exploring" not in words
    assert bundle["text/plain"].index("print") < bundle["text/plain"].index("6 tries")


def test_it_needs_no_list_of_what_was_tried_where_the_cells_stand_below():
    state = final(stream("the end\n"))
    assert "Load the graph" not in "".join(card(state).values())
    for words in card(state, cells=False).values():
        assert "Load the graph" in words


def test_during_a_run_it_has_the_step_and_the_latest_output():
    seen = CandidateObserved("2.1r1", Observation("ok", text="45\n"))
    events = [seen if getattr(event, "candidate", "") == "2.1r1" else event for event in complete_events()]
    moments = list(states(recorded(events)))
    state = next(state for state in reversed(moments) if state.last_observed == "2.1r1")
    for words in card(state).values():
        assert "45" in words and "2.1r1 ran" in words and state.activity in words
    failed = next(state for state in reversed(moments) if state.last_observed == "1.1")
    for words in card(failed).values():
        assert "1.1 failed: AttributeError: no" in words


def test_the_trace_is_named_relative_to_the_notebook():
    state = replace(final(), trace="/notes/explorations/a.ipynb")
    for words in card(state, folder=Path("/notes")).values():
        assert "/notes" not in words and "explorations/a.ipynb" in words
    assert "/notes/explorations" in card(state, folder=Path("/other"))["text/plain"]


def test_it_stays_the_same_while_nothing_happens():
    """Each update makes a notebook unsaved; the clock of a run is in the sidebar."""
    *_, state, _ = states(recorded(complete_events()))
    assert card_bundle(state, 1.0, in_page=True) == card_bundle(state, 100.0, in_page=True)


@pytest.mark.parametrize("outcome", ["unchecked", "unsolved", "stopped"])
def test_every_verdict_is_in_words(outcome):
    for words in card(final(outcome=outcome)).values():
        assert outcome.capitalize() in words
    assert ("print" in card(final(outcome=outcome))["text/plain"]) == (outcome != "unsolved")


def test_figures_and_tables_are_shown_and_long_texts_shortened():
    figure = {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure>"}, "metadata": {}}
    table = shown(text_html="<table><tr><td>a cell</td></tr></table>", text_plain="a  cell")
    page = card(final(figure, table, stream("line\n" * 500)))
    assert f'src="data:image/png;base64,{PNG}" alt="&lt;Figure&gt;"' in page["text/html"]
    assert "<td>a cell</td>" in page["text/html"] and "a  cell" in page["text/plain"]
    for form in page.values():
        assert form.count("line") < 40 and "more lines" in form


def test_what_is_too_large_is_shown_as_text():
    table = shown(text_html=f"<table><tr><td>{'x' * 500_000}</td></tr></table>", text_plain="a table")
    page = card(final(table))["text/html"]
    assert len(page) < 100_000 and "a table" in page


def test_nothing_in_it_can_act():
    hostile = f"<script>{FIRE}</script><img src=x onerror='{FIRE}'></div></div><iframe srcdoc='{FIRE}'></iframe>"
    state = final(
        shown(text_html=hostile, text_plain=hostile),
        {"output_type": "display_data", "data": {"application/javascript": FIRE}, "metadata": {}},
        stream(hostile),
        {"output_type": "error", "ename": hostile, "evalue": hostile, "traceback": [hostile]},
    )
    page = card(replace(state, trace=hostile, activity=hostile))["text/html"]
    seen = Elements(page)
    assert not seen.tags & {"script", "iframe"} and not any(name.startswith("on") for name in seen.attributes)
    assert page.count("<div") == page.count("</div>")


def test_a_run_that_could_not_start_has_no_result():
    refused = with_failure(RunState(), "There is no such library.", at=1.0)
    page = card(refused)["text/html"]
    assert 'role="alert"' in page and "jp-mod-ended" not in page
    over = with_summary(RunState(), {"status": "stopped", "reason": "By the user.", "solution": None, "trace": None})
    assert "jp-mod-ended" in card(over)["text/html"]
