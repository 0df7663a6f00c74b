"""The packed records of a trace: complete, small, and refused in one sentence where they are damaged."""

import base64
import json
import lzma
import tracemalloc
import zlib
from functools import cache

import nbformat
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Notice, dump
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.trace import find_problems, load, render, storage, summarize_run
from exploracoder_jupyter.trace.edits import find_edited_cells
from exploracoder_jupyter.trace.metadata import SCHEMA_VERSION
from exploracoder_jupyter.trace.storage import read
from tests.unit.factories import asked, complete_run, finished, planned, proposed, ran, recorded, shown, started, stream
from tests.unit.trace.views import a_picture, facts, journaled, pack, traced, unpack

DOCUMENTATION = "\n\n".join(f"{n}. Return the triangle that begins at the node {n * n}." for n in range(300))
LATER = SCHEMA_VERSION + 1


def run_with(prompts):
    calls = [asked(number, prompt=prompt) for number, prompt in enumerate(prompts)]
    return recorded(
        [started(), planned("Show"), *calls, proposed("1.1", "show()"), ran("1.1", stream("x" * 500)), finished()]
    )


@cache
def large_run():
    """Records of several megabytes, so that they are packed in several streams."""
    tree = {"data": [{"x": [number * 1.5 for number in range(500)], "name": "é"}]}
    error = {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["line\n" * 500, "end"]}
    output = {"output_type": "display_data", "data": {"application/vnd.plotly.v1+json": tree}, "metadata": {}}
    picture = shown(image_png=a_picture(1, 300_000), text_plain="<Figure>")
    code = [one for n in range(4) for one in (proposed(f"1.{n}", f"g({n})"), ran(f"1.{n}", output, error, picture))]
    return recorded([started(), planned("Show"), *code, finished()])


def written(path, notebook):
    nbformat.write(notebook, path)
    return path


def test_repeated_prompts_take_little_room(tmp_path):
    once, often = (
        run_with([f"Subtask {number}\n{DOCUMENTATION}\nNow write it." for number in range(count)]) for count in (1, 20)
    )
    sizes = [written(tmp_path / "run.ipynb", render(records)).stat().st_size for records in (once, often)]
    assert sizes[1] - sizes[0] < 20 * 100 < len(DOCUMENTATION)
    assert load(tmp_path / "run.ipynb") == often
    assert find_problems(nbformat.read(tmp_path / "run.ipynb", 4)) == []


def test_large_run_is_loaded_exactly(tmp_path):
    path, records = tmp_path / "run.ipynb", large_run()
    trace = traced(path, records, interval=0)
    trace.close()
    assert trace.problem is None
    assert load(path) == records
    notebook = nbformat.read(path, 4)
    assert facts(notebook)["records"] == facts(render(records))["records"]
    assert find_problems(notebook) == []
    assert summarize_run(fold_all(load(path)))["status"] == summarize_run(fold_all(records))["status"]


def test_cleared_outputs_are_still_in_records(tmp_path):
    notebook = render(large_run())
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    assert load(written(tmp_path / "run.ipynb", notebook)) == large_run()


def test_edited_picture_in_cell_is_found():
    notebook = render(large_run())
    [cell] = [one for one in notebook.cells if one.source.startswith("%%explored 1.3\n")]
    cell.outputs[-1].data["image/png"] = a_picture(99)
    assert list(find_edited_cells(notebook, large_run())) == ["1.3"]


def bomb(content=b"x", size=20_000_000):
    return base64.b64encode(lzma.compress(content * (size // len(content)))).decode()


def demanding():
    """A short stream whose header asks for a dictionary of four gigabytes."""
    content = bytearray(lzma.compress(b"{}\n"))
    end = 12 + 4 * content[12]  # of the block's header, before its checksum
    content[16] = 40
    content[end : end + 4] = zlib.crc32(content[12:end]).to_bytes(4, "little")
    return base64.b64encode(content).decode()


DAMAGED = {
    "not base64": "no base64!",
    "not text": {"a": 1},
    "not compressed": base64.b64encode(b"plain").decode(),
    "truncated": base64.b64encode(lzma.compress(b'{"seq": 0}\n' * 100)[:-20]).decode(),
    "cut base64": base64.b64encode(lzma.compress(b'{"seq": 0}\n' * 100)).decode()[:-5],
    "demanding": demanding(),
    "not JSON": pack(["no JSON"]),
    "not objects": pack(["7"]),
    "not UTF-8": base64.b64encode(lzma.compress(b'"\xff"\n')).decode(),
    "deep": pack(["[" * 100_000]),
    "trailing": base64.b64encode(lzma.compress(b"{}\n") + b"more").decode(),
}


@pytest.mark.parametrize("packed", DAMAGED.values(), ids=DAMAGED)
def test_damaged_records_are_refused_in_one_sentence(tmp_path, packed):
    notebook = render(complete_run())
    facts(notebook)["records"] = packed
    path = written(tmp_path / "run.ipynb", notebook)
    with pytest.raises(UsageError, match="The records in this trace are damaged") as caught:
        load(path)
    assert path.name in caught.value.message
    assert caught.value.remedy
    assert find_problems(nbformat.read(path, 4))
    journaled(path, complete_run())
    assert load(path) == complete_run()


def test_one_changed_byte_is_noticed(tmp_path):
    notebook = render(complete_run())
    content = bytearray(base64.b64decode(facts(notebook)["records"]))
    content[len(content) // 2] ^= 1
    facts(notebook)["records"] = base64.b64encode(content).decode()
    with pytest.raises(UsageError, match="damaged"):
        load(written(tmp_path / "run.ipynb", notebook))


@pytest.mark.parametrize("content", [b"x", b"{}\n", b"[", b'{"seq":0,"at":0,"event":{"kind":"notice","text":"x"}}\n'])
def test_bomb_is_refused_in_bounded_memory(tmp_path, monkeypatch, content):
    monkeypatch.setattr(storage, "MAX_UNPACKED", 2_000_000)
    monkeypatch.setattr(storage, "MAX_RECORDS", 1_000)
    notebook = render(complete_run())
    facts(notebook)["records"] = bomb(content)
    path = written(tmp_path / "run.ipynb", notebook)
    tracemalloc.start()
    with pytest.raises(UsageError, match="damaged"):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_unknown_events_are_skipped(tmp_path):
    notebook = render(complete_run())
    raw = [*unpack(facts(notebook)["records"]), {"seq": 99, "at": 0, "event": {"kind": "from_the_future"}}]
    facts(notebook)["records"] = pack(map(json.dumps, raw))
    assert load(written(tmp_path / "run.ipynb", notebook)) == complete_run()


def test_later_version_opens_with_warning(tmp_path):
    notebook = render(complete_run())
    facts(notebook)["schema_version"] = LATER
    records = load(written(tmp_path / "run.ipynb", notebook))
    assert [record for record in records if record not in complete_run()] == [records[1]]
    assert isinstance(records[1].event, Notice)
    assert records[1].event.level == "warning"
    assert f"format {LATER}" in records[1].event.text
    assert f"format {LATER}" in "".join(cell.source for cell in render(records).cells)


def test_unreadable_later_version_asks_for_update(tmp_path):
    notebook = render(complete_run())
    facts(notebook).update(schema_version=LATER, records={"elsewhere": True})
    with pytest.raises(UsageError, match=f"trace format {LATER}") as caught:
        load(written(tmp_path / "run.ipynb", notebook))
    assert caught.value.remedy == "Update exploracoder_jupyter."


def test_journal_without_head_is_read(tmp_path):
    path = tmp_path / "run.journal.jsonl"
    path.write_text("".join(f"{dump(record)}\n" for record in complete_run()))
    assert read(path) == complete_run()
