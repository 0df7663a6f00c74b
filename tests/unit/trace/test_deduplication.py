"""Large traces keep large outputs once, and lose nothing by it."""

import base64
import json
import random
import zlib
from functools import cache

import nbformat
import pytest

from exploracoder_jupyter.trace import find_problems, load, render, trace_document
from exploracoder_jupyter.trace.edit_detection import find_edited_cells
from exploracoder_jupyter.trace.storage.shared_content import inline_content
from tests.unit.factories import finished, planned, proposed, ran, recorded, shown, started, stream
from tests.unit.trace.test_correctness_cells import INPUTS, a_trial
from tests.unit.trace.views import traced

LARGE = 1_000_000
"""Bytes of a trace that is large here."""


@pytest.fixture(scope="module", autouse=True)
def _small_traces_are_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_document, "MAX_DUPLICATED", LARGE)
        yield


@cache
def a_picture(seed, size=30_000):
    return base64.b64encode(b"\x89PNG" + random.Random(seed).randbytes(size)).decode()


def a_table(seed):
    return "".join(f"<tr><td>{number * seed}</td><script>x</script></tr>\n" for number in range(200))


def large(count=20):
    outputs = [shown(image_png=a_picture(n), text_html=a_table(n), text_plain=f"table {n}") for n in range(count)]
    candidates = [
        one for n, output in enumerate(outputs) for one in (proposed(f"1.{n}", f"f({n})"), ran(f"1.{n}", output))
    ]
    solution = [proposed("s1", "print('x')"), ran("s1", stream("x" * 5_000 + "\n")), INPUTS, a_trial("s1", "y" * 5_000)]
    return recorded([started(), planned("Show"), *candidates, *solution, finished(candidate="s1")])


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "run.ipynb"
    trace = traced(path, large(), interval=1e6)
    trace.close()
    assert trace.problem is None
    return path


def facts(path):
    return json.loads(path.read_text())["metadata"]["exploracoder_jupyter"]


def changed(path, tmp_path, change):
    notebook = nbformat.read(path, 4)
    change(notebook)
    target = tmp_path / "changed.ipynb"
    nbformat.write(notebook, target)
    return target


def test_a_large_trace_is_loaded_exactly(trace):
    assert load(trace) == large()
    assert render(load(trace)).cells == render(large()).cells
    assert find_problems(nbformat.read(trace, 4)) == []


def test_pictures_stand_in_the_cells_alone_and_the_summary_says_so(trace):
    assert len(json.dumps(render(large()[:20]).metadata)) > 200_000  # a small one has them twice
    assert len(json.dumps(facts(trace)["records"])) < 150_000
    text = trace.read_text()
    assert text.count(a_picture(3)) == 1
    assert facts(trace)["trimmed"]["outputs"] == 22
    summary = nbformat.read(trace, 4).cells[-1].source
    assert "Large: 22 outputs (0.8 MB) stored only in the cells, so do not clear the outputs" in summary


def test_a_trace_that_is_not_large_keeps_everything_in_its_records(tmp_path):
    records = large(3)
    path = tmp_path / "run.ipynb"
    path.write_text(nbformat.writes(render(records)))
    assert path.stat().st_size < LARGE
    assert "trimmed" not in facts(path)
    cleared = changed(
        path, tmp_path, lambda notebook: [cell.update(outputs=[]) for cell in notebook.cells if "outputs" in cell]
    )
    assert load(cleared) == records


def test_where_outputs_were_cleared_the_rest_is_still_loaded(trace, tmp_path):
    def clear(notebook):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []

    records = load(changed(trace, tmp_path, clear))
    assert [record.event.kind for record in records] == [record.event.kind for record in large()]
    data = records[3].event.observation.outputs[0]["data"]
    assert data == {"text/plain": "table 0", "text/html": a_table(0)}
    solution = next(
        r.event.observation for r in records if r.event.kind == "candidate_observed" and r.event.candidate == "s1"
    )
    assert "have been cleared" in solution.outputs[0]["text"]


def test_an_edit_of_an_output_that_stands_in_its_cell_alone_is_found(trace, tmp_path):
    def edit(notebook):
        [cell] = [one for one in notebook.cells if one.source.startswith("%%explored 1.3\n")]
        cell.outputs[0].data["image/png"] = a_picture(99)

    edited = changed(trace, tmp_path, edit)
    assert list(find_edited_cells(nbformat.read(edited, 4), load(edited))) == ["1.3"]


def test_large_trees_and_tracebacks_are_kept_once_too(tmp_path):
    tree = {"data": [{"x": [number * 1.5 for number in range(5_000)], "name": "é"}]}
    error = {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["line\n" * 5_000, "end"]}
    output = {"output_type": "display_data", "data": {"application/vnd.plotly.v1+json": tree}, "metadata": {}}
    code = [one for n in range(16) for one in (proposed(f"2.{n}", f"g({n})"), ran(f"2.{n}", output, error))]
    events = recorded([started(), planned("Show"), *code, finished()])
    path = tmp_path / "run.ipynb"
    trace = traced(path, events, interval=1e6)
    trace.close()
    assert trace.problem is None
    assert load(path) == events
    assert find_problems(nbformat.read(path, 4)) == []
    assert len(str(events)) > 4 * len(json.dumps(facts(path)["records"]))


def test_what_somebody_has_packed_to_fill_the_memory_is_left_out(trace, tmp_path, monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.trace.storage.deduplication.MAX_DECOMPRESSED", 3_000_000)
    bomb = base64.b64encode(zlib.compress(b"x" * 2_000_000)).decode()

    def pack(notebook):
        inline_content(notebook.metadata.exploracoder_jupyter)
        for record in notebook.metadata.exploracoder_jupyter.records[3:9:2]:
            record.event.observation["outputs"][0]["data"]["text/html"] = {"exploracoder_jupyter": {"zlib": bomb}}

    records = load(changed(trace, tmp_path, pack))
    found = [records[place].event.observation.outputs[0]["data"].get("text/html", "") for place in (3, 5, 7)]
    assert [len(text) for text in found] == [2_000_000, 0, 0]


@pytest.mark.parametrize("packed", ["no base64!", "AAAA", "", None, 7])
def test_a_damaged_value_costs_only_itself(trace, tmp_path, packed):
    def damage(notebook):
        inline_content(notebook.metadata.exploracoder_jupyter)
        observed = notebook.metadata.exploracoder_jupyter.records[3].event.observation
        observed["outputs"][0]["data"]["text/html"] = {"exploracoder_jupyter": {"zlib": packed}}

    records = load(changed(trace, tmp_path, damage))
    assert [*records[3].event.observation.outputs[0]["data"]] == ["image/png", "text/plain"]
    assert records[5] == large()[5]
