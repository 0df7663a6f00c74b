"""A trace limits the size of its outputs. It says what it omits: never what was run or how that ended."""

import json
from dataclasses import replace
from datetime import date

import nbformat
import pytest

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.trace import find_problems, load, render
from exploracoder_jupyter.trace.comparison import comparable_result, compare_with_record
from exploracoder_jupyter.trace.storage import SizeBudget, count_omitted, omitted_values, trim_like_record
from tests.unit.factories import finished, planned, proposed, ran, recorded, shown, started, stream
from tests.unit.trace.test_correctness_cells import INPUTS, a_trial
from tests.unit.trace.views import a_picture, traced


def outputs_of(record):
    return record.event.observation.outputs


def fitted(room, *outputs, id="1.1"):
    return outputs_of(room.fit(Record(0, 0.0, ran(id, *outputs))))


def test_large_values_stay_while_there_is_room():
    room = SizeBudget(most=100_000)
    first, second, third = (
        fitted(room, shown(image_png=a_picture(n), text_html="<table></table>", text_plain=f"<Figure {n}>"))[0]
        for n in range(3)
    )
    assert first["data"]["image/png"] == a_picture(0)
    assert second["data"]["image/png"] == a_picture(1)
    assert third["data"] == {"text/html": "<table></table>", "text/plain": "<Figure 2>"}
    assert omitted_values(third) == {"image/png": len(a_picture(2))}


def test_of_a_long_text_both_ends_stay():
    [output] = fitted(SizeBudget(most=0), stream("first\n" + "x" * 100_000 + "\nlast"))
    assert output["text"].startswith("first\nx")
    assert output["text"].endswith("x\nlast")
    assert "[... 99,011 characters left out ...]" in output["text"]
    assert omitted_values(output) == {"text": 100_011}
    [output] = fitted(SizeBudget(most=0), shown(text_plain="y" * 10_000))
    assert len(output["data"]["text/plain"]) < 2_000


def test_solutions_have_room_of_their_own():
    room = SizeBudget(most=0, most_of_solutions=50_000)
    figure = shown(image_png=a_picture(1))
    assert omitted_values(fitted(room, figure)[0])
    assert not omitted_values(fitted(room, figure, id="s1")[0])
    tested = room.fit(Record(0, 0.0, a_trial("s1", "y" * 60_000)))
    assert count_omitted([tested]) == (1, sum(omitted_values(tested.event.results[0].observation.outputs[0]).values()))


def test_what_was_left_out_is_not_compared():
    outputs = [shown(image_png=a_picture(1), text_plain="<Figure>"), shown(text_plain="z" * 9_000), stream("y" * 9_000)]
    again = ran("1.1", stream("y" * 4_000), outputs[0], stream("y" * 5_000), outputs[1]).observation
    kept = SizeBudget(most=0).fit(Record(0, 0.0, ran("1.1", *outputs))).event.observation
    assert result(kept, again) == "changed"
    assert result(kept, trim_like_record(kept, again)) == "same"
    other = replace(again, outputs=(*again.outputs[:1], shown(text_plain="<Axes>"), *again.outputs[2:]))
    assert result(kept, trim_like_record(kept, other)) == "changed"
    assert trim_like_record(again, other) is other


def result(recorded, again):
    day = date(2026, 3, 4)
    return compare_with_record(comparable_result(recorded, day=day), [comparable_result(again, day=day)]).result


ROOM = 1_000_000


@pytest.fixture(scope="module")
def flooded(tmp_path_factory):
    """A trace with less room than its run needs."""
    figures = [
        [shown(image_png=a_picture(n * 30 + m, 10_000), text_plain=f"<{n}.{m}>") for m in range(30)] for n in range(14)
    ]
    shown_all = [one for n, some in enumerate(figures) for one in (proposed(f"1.{n}", f"f({n})"), ran(f"1.{n}", *some))]
    solution = [proposed("s1", "g()"), ran("s1", shown(image_png=a_picture(-1))), INPUTS, a_trial("s1", "y" * 5_000)]
    events = recorded([started(), planned("Show"), *shown_all, *solution, finished(candidate="s1")])
    path = tmp_path_factory.mktemp("flood") / "run.ipynb"
    trace = traced(path, events, interval=1e6, room=SizeBudget(most=ROOM))
    trace.close()
    assert trace.problem is None
    return path, events


def test_a_flood_of_figures_is_bounded(flooded):
    path, _ = flooded
    assert 2 * ROOM < path.stat().st_size < 2.5 * ROOM
    notebook = nbformat.read(path, 4)
    assert find_problems(notebook) == []
    trimmed = notebook.metadata.exploracoder_jupyter.trimmed
    count, size = count_omitted(load(path))
    assert trimmed == {"outputs": count, "bytes": size}
    assert 0 < count < 14 * 30
    assert f"{count:,} outputs ({size / 1e6:.1f} MB) left out" in notebook.cells[-1].source
    noted = [cell for cell in notebook.cells if "[image/png left out: no room in this trace]" in json.dumps(cell)]
    assert noted


def test_code_and_status_survive_a_flood(flooded):
    path, events = flooded
    records = load(path)
    without = [replace(r.event.observation, outputs=()) for r in events if r.event.kind == "candidate_observed"]
    assert [
        replace(r.event.observation, outputs=()) for r in records if r.event.kind == "candidate_observed"
    ] == without
    assert [r for r in records if r.event.kind == "candidate_proposed"] == [
        r for r in events if r.event.kind == "candidate_proposed"
    ]
    [last] = [r for r in records if r.event.kind == "candidate_observed" and r.event.candidate == "s1"]
    assert outputs_of(last)[0]["data"]["image/png"] == a_picture(-1)
    assert render(records).metadata == nbformat.read(path, 4).metadata
