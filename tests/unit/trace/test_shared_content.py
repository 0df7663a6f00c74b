"""Long values are stored once in a trace, and come back whatever they are."""

import base64
import json
import zlib

import nbformat
import pytest

from exploracoder_jupyter.trace import find_problems, load, render
from exploracoder_jupyter.trace.storage import shared_content
from exploracoder_jupyter.trace.storage.shared_content import extract_content, inline_content
from tests.unit.factories import asked, complete_run, finished, planned, proposed, ran, recorded, started, stream

DOCUMENTATION = "\n\n".join(f"{n}. Return the triangle that begins at the node {n * n}." for n in range(300))


def a_run(prompts):
    calls = [asked(number, prompt=prompt) for number, prompt in enumerate(prompts)]
    return recorded(
        [started(), planned("Show"), *calls, proposed("1.1", "show()"), ran("1.1", stream("x" * 500)), finished()]
    )


def written(tmp_path, notebook):
    path = tmp_path / "run.ipynb"
    nbformat.write(notebook, path)
    return path


def table(pieces, *values):
    text = json.dumps({"pieces": pieces, "values": values})
    return base64.b64encode(zlib.compress(text.encode())).decode()


def test_what_every_prompt_repeats_is_stored_once(tmp_path):
    once, often = (
        a_run([f"Subtask {number}\n{DOCUMENTATION}\nNow write it." for number in range(count)]) for count in (1, 20)
    )
    sizes = [written(tmp_path, render(records)).stat().st_size for records in (once, often)]
    assert sizes[1] - sizes[0] < 20 * 600 < len(DOCUMENTATION)
    assert load(tmp_path / "run.ipynb") == often
    assert find_problems(nbformat.read(tmp_path / "run.ipynb", 4)) == []


@pytest.mark.parametrize("text", ["blake2b:", f"blake2b:{'01' * 12}", "x", "", "\n\n},{\\n", "é\u2028" * 100])
def test_any_text_comes_back(text):
    value = {"kind": "notice", "text": text, "details": [{"a": text}, {"b": [text] * 40}]}
    metadata = {"records": [{"event": json.loads(json.dumps(value))}]}
    metadata["content"] = extract_content(metadata["records"])
    inline_content(metadata)
    assert metadata["records"] == [{"event": value}]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no base64!",
        7,
        None,
        table(["x"]),
        table([7], [0]),
        table(["x"], [9]),
        table(["[" * 100_000], [0]),
        base64.b64encode(zlib.compress(b"[]")).decode(),
        base64.b64encode(zlib.compress(b"{}")[:-2]).decode(),
    ],
)
def test_a_damaged_table_costs_only_what_it_contained(tmp_path, content):
    notebook = render(complete_run())
    notebook.metadata.exploracoder_jupyter["content"] = content
    records = load(written(tmp_path, notebook))
    assert records[0].event.kind == "run_started"
    assert records[-1] == complete_run()[-1]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(shared_content, "MAX_DECOMPRESSED", 10_000)


def restored(records, content):
    metadata = {"records": records, "content": content}
    inline_content(metadata)
    return [len(record["event"].get("text", "")) for record in metadata["records"]]


def noticed(length):
    return {"event": {"kind": "notice", "text": "y" * length}}


def test_a_value_made_of_one_piece_many_times_is_left_out(small):
    [record] = named = [noticed(12_000)]
    extract_content(named)
    assert restored([record], table(["y" * 100, '"'], [1, *[0] * 120, 1])) == [0]


def test_values_beyond_the_limit_are_left_out(small):
    records = [noticed(3_000) for _ in range(6)]
    assert restored(records, extract_content(records)) == [3_000] * 3 + [0] * 3
