"""A run as one notebook file: its cells, and in the metadata what is needed to run it again.

The file is written as Jupyter writes notebooks, keys in order and one item a line: the same records give the same
bytes, opening and saving it changes nothing, and version control shows what differs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import nbformat
from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines
from pydantic import JsonValue
from pydantic_core import to_json

from exploracoder_jupyter.core.events import Record, RunStarted
from exploracoder_jupyter.core.types import Environment, LibraryInfo, Task, Usage, Verdict
from exploracoder_jupyter.core.wording import plural
from exploracoder_jupyter.trace.cell_metadata import NAMESPACE, SCHEMA_VERSION, Cell, ours
from exploracoder_jupyter.trace.cells.cell_layout import Layout, Show, with_line
from exploracoder_jupyter.trace.deduplication import MOST_TWICE, keep_once
from exploracoder_jupyter.trace.run_state import Run
from exploracoder_jupyter.trace.size_limit import left_out
from exploracoder_jupyter.trace.stored_records import stored

_PYTHON: Final[dict[str, JsonValue]] = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
"""As kernels tell it, and front ends write it into a notebook."""
_MOST_EXACT: Final = 2**53


def document(run: Run, records: Sequence[Record]) -> NotebookNode:
    """The notebook of the run with these records; without records it cannot be told again."""
    cells = Layout(show=_show(run)).cells(run)
    metadata: dict[str, JsonValue] = {"language_info": {"name": "python"}}
    if run.started:
        environment = run.started.environment
        display = "Python 3 (ipykernel)" if environment.kernel == "python3" else environment.kernel
        metadata["kernelspec"] = {"name": environment.kernel, "display_name": display, "language": "python"}
        metadata["language_info"] = {**_PYTHON, "version": environment.python}
        kept, cells = _kept(records, cells)
        metadata[NAMESPACE] = {**_facts(run, run.started), **kept}
    whole: dict[str, JsonValue] = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [*cells]}
    notebook: NotebookNode = nbformat.from_dict(whole)  # type: ignore[no-untyped-call]
    return notebook


def _kept(records: Sequence[Record], cells: list[Cell]) -> tuple[dict[str, JsonValue], list[Cell]]:
    """The records as they go into the metadata, and the cells. A large trace keeps what is large once, and says so."""
    if not records:
        return {}, cells
    kept = stored(records)
    if len(to_json(kept)) + len(to_json(cells)) <= MOST_TWICE:
        return kept, cells
    raw: Any = kept["records"]
    gone, lost = left_out(records)
    count, size = keep_once(raw, cells)
    said = f"Large: {_outputs(count, size)} stand in the cells alone, so clear no outputs here"
    more = f"; {_outputs(gone, lost)} left out, for which there was no room" if gone else ""
    told = [with_line(cell, said + more) if (ours(cell) or {}).get("role") == "summary" else cell for cell in cells]
    missing: dict[str, JsonValue] = {"left_out": {"outputs": gone, "bytes": lost}} if gone else {}
    return {**kept, "trimmed": {"outputs": count, "bytes": size, **missing}}, told


def _outputs(count: int, size: int) -> str:
    return f"{plural(count, 'output')} ({size / 1e6:.1f} MB)"


def content(notebook: NotebookNode) -> bytes:
    """The file's content: the very bytes that Jupyter writes when it saves the notebook."""
    lines = _whole(split_lines(notebook))  # type: ignore[no-untyped-call]
    return f"{json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True)}\n".encode()


def _whole(value: Any) -> Any:
    """The value with `60.0` as `60`: browsers know no difference."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _MOST_EXACT else value


def keeps_prompts(run: Run) -> bool:
    """Whether what the model is asked goes into the trace, as the run's settings say."""
    return _view(run).get("prompts") is not False


def _show(run: Run) -> Show:
    """Which candidates get cells, as the run's settings say; the records in the metadata are complete in any case."""
    wanted = _view(run).get("show")
    return "selected" if wanted == "selected" else "none" if wanted == "none" else "all"


def _view(run: Run) -> dict[str, JsonValue]:
    view = run.started.settings.get("view") if run.started else None
    return view if isinstance(view, dict) else {}


def _facts(run: Run, started: RunStarted) -> dict[str, JsonValue]:
    """What is needed to run it again, readable without folding the records."""
    facts: dict[str, JsonValue] = {
        "schema_version": SCHEMA_VERSION,
        "package_version": started.version,
        "run_id": started.run_id,
        "started": datetime.fromtimestamp(run.started_at, UTC).isoformat(timespec="seconds"),
        "task": _plain(started.task),
        "settings": started.settings,
        "model": started.model,
        "environment": _plain(started.environment),
        "usage": _plain(run.usage),
    }
    if run.finished:
        facts["verdict"] = _plain(run.finished.verdict)
    if run.library:
        facts["libraries"] = [_plain(info) for info in run.library.libraries]
    if run.files:
        facts["files"] = {"folder": run.files.folder, "names": [*run.files.files]}
    return facts


def _plain(value: Task | Environment | Usage | Verdict | LibraryInfo) -> dict[str, JsonValue]:
    """As JSON, fields without a value left out."""
    return {key: json.loads(json.dumps(item)) for key, item in asdict(value).items() if item is not None}
