"""Runs without a plan, and programs that are never run, in every view of a run."""

import io

import pytest
from rich.console import Console

from exploracoder_jupyter.cli.live_view import EventLines, render_view
from exploracoder_jupyter.ipython_extension.browser.browser_run import RunContext, run_view
from exploracoder_jupyter.ipython_extension.result_card.card import as_text, card_html
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.example_repair import example_repair
from exploracoder_jupyter.strategies.retrieval import direct
from exploracoder_jupyter.trace import render
from exploracoder_jupyter.trace.reading import summarize_run
from tests.unit.factories import recorded, started, states
from tests.unit.strategies.replies import RIGHT, fenced
from tests.unit.strategies.test_example_repair import BROKEN, GOOD, PROSE, with_example
from tests.unit.world import a_run


async def records_of(strategy, name, *replies, text="Compute the root of 16"):
    run = a_run(ScriptedModel(replies), text, strategy=name)
    await run_task(run, strategy)
    return recorded([started(settings={"exploration": {"strategy": name}}), *run.emit.__self__])


async def repaired():
    replies = with_example(BROKEN), with_example(GOOD), "unchanged"
    return await records_of(example_repair, "example-repair", *replies, text=PROSE)


async def unexecuted():
    return await records_of(direct, "direct", fenced(RIGHT))


def cells(records):
    return {cell.metadata["exploracoder_jupyter"]["role"]: cell.source for cell in render(records).cells}


def shown(state):
    out = io.StringIO()
    Console(file=out, width=200).print(render_view(state, now=state.now))
    return out.getvalue()


@pytest.mark.parametrize("make", [repaired, unexecuted])
async def test_no_view_mentions_a_plan(make):
    records = await make()
    lines = []
    log = EventLines(lines.append)
    for number, (record, state) in enumerate(zip(records, states(records), strict=True), 1):
        log(record)
        context = RunContext("k", "c", None)
        views = [
            shown(state),
            as_text(state, state.now),
            card_html(state, state.now),
            card_html(state, 2.0, cells=True, in_page=True),
        ]
        views += [run_view(state, context).model_dump_json(), *(cell.source for cell in render(records[:number]).cells)]
        assert not [view for view in views if "plan" in view.lower()]
    assert not [line for line in lines if "plan" in line.lower()]


async def test_the_trace_names_the_strategy_and_programs():
    records = await repaired()
    notebook = render(records)
    assert cells(records)["plan"].startswith("### Strategy: example-repair")
    code = [cell.source.partition("\n")[0] for cell in notebook.cells if cell.source.startswith("%%explored")]
    assert code == ["%%explored s1", "%%explored s1e", "%%explored s2e"]
    assert cells(records)["solution"] == GOOD


async def test_an_unexecuted_program_is_shown_as_such():
    records = await unexecuted()
    state = states(records)[-1]
    assert [attempt.state for attempt in state.solution_section.candidates] == ["not run"]
    assert "s1 not run" in shown(state) and "1 not run; s1 selected" in as_text(state, state.now)
    text = "\n".join(cell.source for cell in render(records).cells)
    assert "**s1** not run" in text and "Unchecked" in text and "ran to its end" not in text
    assert summarize_run(state)["subtasks"] == [] and summarize_run(state)["solution"] == RIGHT
    assert state.offered_solution == RIGHT
