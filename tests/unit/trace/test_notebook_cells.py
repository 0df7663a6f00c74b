"""The cells of a run in the user's notebook: one heading above what was tried, another above the solution."""

import nbformat
import pytest

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.trace import CellView, generated_metadata
from exploracoder_jupyter.trace.cells import COLLAPSED, source_hash
from tests.unit.factories import complete_events, finished, recorded, states
from tests.unit.trace.views import with_role


def viewed(events, **options):
    """The cells of each moment."""
    view = CellView(anchor="mine", **options)
    for state in states(recorded(events)):
        view.update(state)
        yield view.cells


def level(cell):
    first = cell["source"].partition("\n")[0]
    return len(first) - len(first.lstrip("#"))


def test_tries_stand_between_headings_above_the_solution():
    *_, cells = viewed(complete_events())
    roles = [generated_metadata(cell)["role"] for cell in cells]
    assert roles[0] == "tries" and roles[-2:] == ["outcome", "solution"]
    between = [level(cell) for cell in cells[1:-2] if cell["cell_type"] == "markdown" and level(cell)]
    (tries,), (outcome,) = with_role(cells, "tries"), with_role(cells, "outcome")
    assert between and min(between) > level(tries) == level(outcome), "else collapsing would not end where it should"
    assert tries["source"] == "### 6 tries, 3 failed"
    assert not with_role(cells, "summary"), "the card has it"
    for cell in cells:
        assert generated_metadata(cell)["source_hash"] == source_hash(cell["source"])
    nbformat.validate(nbformat.from_dict({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


@pytest.mark.parametrize("outcome", ["unsolved", "stopped"])
def test_cells_below_are_never_under_the_tries(outcome):
    for cells in viewed([*complete_events()[:-1], finished(outcome)]):
        headings = [cell for cell in cells if cell["cell_type"] == "markdown" and level(cell) == 3]
        assert [generated_metadata(cell)["role"] for cell in headings] in ([], ["tries", "outcome"])


def test_the_heading_collapses_at_end_or_start():
    for shown, before in (("live", {False}), ("collapsed", {True})):
        moments = [cells for cells in viewed(complete_events(), cells=shown) if cells]
        collapsed = [with_role(cells, "tries")[0]["metadata"].get(COLLAPSED, False) for cells in moments]
        assert set(collapsed[:-1]) == before and collapsed[-1] is True


def test_the_card_alone_needs_no_cells():
    assert not any(viewed(complete_events(), cells="card"))
    whole = CellView(cells="card")
    for state in states(recorded(complete_events())):
        whole.update(state)
    assert with_role(whole.cells, "candidate") and with_role(whole.cells, "summary")


def test_an_unsolved_run_says_so_below():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    *_, cells = viewed([*events, finished("unsolved")])
    assert with_role(cells, "outcome")[0]["source"] == "### No solution" and not with_role(cells, "solution")
