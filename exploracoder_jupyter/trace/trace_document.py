"""Renders a run as one notebook: its cells, and in the metadata everything needed to run it again.

The file is formatted exactly as Jupyter formats notebooks, with sorted keys and one item per line. So the same records
always produce the same bytes, opening and saving the file in Jupyter changes nothing, and diffs are readable.
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
"""The `language_info` that kernels report and front ends write into notebooks."""
_MOST_EXACT: Final = 2**53
"""Integers up to this size are exact as floats."""


def document(run: Run, records: Sequence[Record]) -> NotebookNode:
    """Build the notebook of a run. Without `records` the run cannot be restored from it."""
    cells = Layout(show=_show(run)).cells(run)
    metadata: dict[str, JsonValue] = {"language_info": {"name": "python"}}
    if run.started:
        environment = run.started.environment
        display = "Python 3 (ipykernel)" if environment.kernel == "python3" else environment.kernel
        metadata["kernelspec"] = {"name": environment.kernel, "display_name": display, "language": "python"}
        metadata["language_info"] = {**_PYTHON, "version": environment.python}
        stored_records, cells = _kept(records, cells)
        metadata[NAMESPACE] = {**_facts(run, run.started), **stored_records}
    content: dict[str, JsonValue] = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [*cells]}
    notebook: NotebookNode = nbformat.from_dict(content)  # type: ignore[no-untyped-call]
    return notebook


def _kept(records: Sequence[Record], cells: list[Cell]) -> tuple[dict[str, JsonValue], list[Cell]]:
    """Return the records as stored in the metadata, and the cells.

    A large trace stores large values only once, and its summary cell reports that.
    """
    if not records:
        return {}, cells
    metadata = stored(records)
    if len(to_json(metadata)) + len(to_json(cells)) <= MOST_TWICE:
        return metadata, cells
    raw: Any = metadata["records"]
    omitted, omitted_size = left_out(records)
    count, size = keep_once(raw, cells)
    # `edit_detection` recognizes this line by its first word
    line = f"Large: {_outputs(count, size)} stored only in the cells, so do not clear the outputs of this notebook"
    if omitted:
        line += f"; {_outputs(omitted, omitted_size)} left out to limit the size"
    annotated = [with_line(cell, line) if (ours(cell) or {}).get("role") == "summary" else cell for cell in cells]
    missing: dict[str, JsonValue] = {"left_out": {"outputs": omitted, "bytes": omitted_size}} if omitted else {}
    return {**metadata, "trimmed": {"outputs": count, "bytes": size, **missing}}, annotated


def _outputs(count: int, size: int) -> str:
    return f"{plural(count, 'output')} ({size / 1e6:.1f} MB)"


def content(notebook: NotebookNode) -> bytes:
    """Serialize the notebook to exactly the bytes that Jupyter writes when it saves it."""
    lines = _whole(split_lines(notebook))  # type: ignore[no-untyped-call]
    return f"{json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True)}\n".encode()


def _whole(value: Any) -> Any:
    """Convert whole floats to integers (`60.0` to `60`), because JavaScript does not distinguish them."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _MOST_EXACT else value


def keeps_prompts(run: Run) -> bool:
    """Whether the run's settings allow the model's prompts to be stored in the trace."""
    return _view(run).get("prompts") is not False


def _show(run: Run) -> Show:
    """Return which candidates get cells, from the run's settings. The records in the metadata are always complete."""
    wanted = _view(run).get("show")
    return "selected" if wanted == "selected" else "none" if wanted == "none" else "all"


def _view(run: Run) -> dict[str, JsonValue]:
    view = run.started.settings.get("view") if run.started else None
    return view if isinstance(view, dict) else {}


def _facts(run: Run, started: RunStarted) -> dict[str, JsonValue]:
    """Return what is needed to run the task again, readable without folding the records."""
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
    """Convert a dataclass to JSON, without fields that are `None`."""
    return {key: json.loads(json.dumps(item)) for key, item in asdict(value).items() if item is not None}
