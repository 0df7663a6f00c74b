"""How large a trace of many rich outputs is, and how long it takes to render, write, load and validate.

`python benchmarks/trace_size.py [CANDIDATES] [--keep FOLDER]` runs that many candidates (200) in a real kernel, each of
which shows a table of 60 rows as pandas does and a figure of 640 x 480 points as matplotlib does, and makes a trace of
what came out. With `--flood` each shows three pictures of 300 kB, and `--unbounded` keeps all of them. `--parts TRACE`
only lists the sizes of the parts of an existing trace.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any, TypeVar

import nbformat
import numpy as np
from jupyter_client.manager import start_new_kernel
from PIL import Image

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Event,
    PlanMade,
    Record,
    RunFinished,
    RunStarted,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.types import (
    Candidate,
    Environment,
    Observation,
    Output,
    Plan,
    Selection,
    Solution,
    Subtask,
    Task,
    Usage,
    Verdict,
)
from exploracoder_jupyter.trace import Trace, find_problems, load, render
from exploracoder_jupyter.trace.storage import SizeBudget, unpack_records

_T = TypeVar("_T")
_A_SUBTASK = 5
_SETUP = "%matplotlib inline\n%config InlineBackend.print_figure_kwargs = {'bbox_inches': None}"
_CODE = """\
import numpy as np, pandas as pd, matplotlib.pyplot as plt
rng = np.random.default_rng({number})
df = pd.DataFrame(rng.normal(size=(60, 6)), columns=["mean", "median", "low", "high", "share", "change"])
df["region"] = rng.choice(["north", "south", "east", "west"], 60)
fig, ax = plt.subplots(figsize=(6.4, 4.8), dpi=100)
ax.scatter(df["mean"], df["median"], c=df["share"])
ax.plot(df["low"].cumsum(), label="low"); ax.plot(df["high"].cumsum(), label="high")
ax.legend(); ax.set_title("Candidate {number}"); plt.show()
df"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("candidates", nargs="?", type=int, default=200)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the trace is left")
    parser.add_argument("--flood", action="store_true", help="large pictures, without a kernel")
    parser.add_argument("--unbounded", action="store_true", help="leave out nothing for which there is no room")
    parser.add_argument("--parts", type=Path, metavar="TRACE", help="list the parts of this trace instead")
    given = parser.parse_args()
    if given.parts:
        _list_parts(given.parts)
        return
    count = given.candidates
    outputs = _flood(count) if given.flood else _executed(count)
    records = [Record(seq, time.time(), event) for seq, event in enumerate(_events(count, outputs))]
    room = SizeBudget(sys.maxsize, sys.maxsize) if given.unbounded else SizeBudget()
    with tempfile.TemporaryDirectory() as folder:
        _measure(records, given.keep or Path(folder), room)


def _measure(records: list[Record], folder: Path, room: SizeBudget) -> None:
    path = folder / f"size-{len(records)}.ipynb"
    notebook = _timed("render", lambda: render(records))
    longest = _timed("write, as a run does", lambda: _write(path, records, room))
    print(f"{longest:8.2f} s of it at once, at most; {getrusage(RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB of memory")
    _timed("load", lambda: load(path))
    _timed("read as a notebook", lambda: nbformat.read(path, 4))
    found = _timed("validate", lambda: find_problems(notebook))
    content = path.read_bytes()
    facts = json.loads(content)["metadata"]["exploracoder_jupyter"]
    print(f"{len(content) / 1e6:8.2f} MB, {len(gzip.compress(content)) / 1e6:.2f} MB with gzip")
    print(f"{len(facts['records']) / 1e6:8.2f} MB of it records")
    print(f"trimmed: {facts.get('trimmed', 'nothing')}; problems: {found or 'none'}")


def _list_parts(path: Path) -> None:
    """Print the size of a trace, of its cells by role, of its metadata by field, and of its records by kind."""
    content = path.read_bytes()
    notebook = json.loads(content)
    facts = notebook["metadata"]["exploracoder_jupyter"]
    sizes: Counter[str] = Counter()
    for cell in notebook["cells"]:
        sizes[f"cells: {cell['metadata'].get('exploracoder_jupyter', {}).get('role', 'others')}"] += _size(cell)
    for name, value in facts.items():
        sizes[f"metadata: {name}"] += _size(value)
    for record in unpack_records(facts["records"]):
        sizes[f"unpacked: {record['event']['kind']}"] += _size(record)  # type: ignore[index, call-overload]
    print(f"{len(content) / 1e3:8.1f} kB")
    for name, size in sizes.most_common():
        print(f"{size / 1e3:8.1f} kB {name}")


def _size(value: object) -> int:
    """As Jupyter writes it, but for the depth of its indentation."""
    return len(json.dumps(value, indent=1, ensure_ascii=False).encode())


def _write(path: Path, records: list[Record], room: SizeBudget) -> float:
    """The longest time in seconds that a write blocks the run."""
    trace, longest = Trace(path, room=room), 0.0
    for record in records:
        began = time.perf_counter()
        trace.append(record)
        longest = max(longest, time.perf_counter() - began)
    trace.close()
    return longest


def _timed(what: str, work: Callable[[], _T]) -> _T:
    began = time.perf_counter()
    result = work()
    print(f"{time.perf_counter() - began:8.2f} s to {what}")
    return result


def _events(count: int, outputs: Iterator[tuple[str, list[Output]]]) -> Iterator[Event]:
    environment = Environment("3.11", "Linux", "python3", "none", "rerun")
    subtasks = tuple(Subtask(str(n), f"Show table {n}") for n in range(1, -(-count // _A_SUBTASK) + 1))
    yield RunStarted("0123abcd", Task("Show tables", ("pandas",)), {}, "none", environment, "0")
    yield PlanMade(Plan(subtasks))
    for subtask in subtasks:
        yield SubtaskStarted(subtask.id, ())
        for number, (code, shown) in enumerate(_next(outputs, _A_SUBTASK), 1):
            id_ = f"{subtask.id}.{number}"
            yield CandidateProposed(Candidate(id_, subtask.id, code))
            text = next((str(one["data"]["text/plain"]) for one in shown[::-1] if "data" in one), "")  # type: ignore[index, call-overload]
            yield CandidateObserved(id_, Observation("ok", tuple(shown), text=text, seconds=0.1))
        yield CandidateSelected(Selection(subtask.id, f"{subtask.id}.1", ("ran",)))
        yield SubtaskFinished(subtask.id, "done")
    yield RunFinished(Verdict("unchecked", "It ran."), Solution("df", "1.1"), Usage())


def _next(outputs: Iterator[_T], count: int) -> Iterator[_T]:
    for _, output in zip(range(count), outputs, strict=False):
        yield output


def _flood(count: int) -> Iterator[tuple[str, list[Output]]]:
    for number in range(count):
        pictures = (_picture(3 * number + more) for more in range(3))
        data = ({"image/png": picture, "text/plain": "<Figure>"} for picture in pictures)
        yield f"show({number})", [{"output_type": "display_data", "data": {**one}, "metadata": {}} for one in data]


def _picture(seed: int) -> str:
    """Noise of 300 x 250 points, in base64."""
    noise = np.random.default_rng(seed).integers(0, 256, (250, 300, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


def _executed(count: int) -> Iterator[tuple[str, list[Output]]]:
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive(_SETUP, timeout=60)
        for number in range(count):
            shown: list[Output] = []
            code = _CODE.format(number=number)
            client.execute_interactive(code, timeout=60, output_hook=lambda message, shown=shown: _take(message, shown))
            yield code, shown
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _take(message: dict[str, Any], shown: list[Output]) -> None:
    kind = message["header"]["msg_type"]
    if kind in ("display_data", "execute_result", "stream", "error"):
        output: Any = nbformat.v4.output_from_msg(message)
        shown.append(json.loads(json.dumps(output)))


if __name__ == "__main__":
    main()
