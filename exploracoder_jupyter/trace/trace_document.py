"""Renders a run as one notebook: its cells, and in the metadata everything needed to run it again.

The file is formatted exactly as Jupyter formats notebooks, with sorted keys and one item per line. So the same records
always produce the same bytes, opening and saving the file in Jupyter changes nothing, and diffs are readable.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import nbformat
from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines
from pydantic import JsonValue

from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Environment, LibraryInfo, Task, Usage, Verdict
from exploracoder_jupyter.trace.cells.cell_building import append_item
from exploracoder_jupyter.trace.cells.cell_layout import Layout, Show
from exploracoder_jupyter.trace.cells.cell_outputs import SanitizedOutputs
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, SCHEMA_VERSION, Cell, generated_metadata
from exploracoder_jupyter.trace.storage.stored_records import PackedRecords

_LANGUAGE_INFO: Final[dict[str, JsonValue]] = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
"""The `language_info` that kernels report and front ends write into notebooks."""
_MAX_EXACT_INTEGER: Final = 2**53
"""Integers up to this size are exact as floats."""


def build_notebook(
    run: RunState,
    records: PackedRecords | None = None,
    *,
    omitted: tuple[int, int] = (0, 0),
    outputs: SanitizedOutputs | None = None,
) -> NotebookNode:
    """Build the notebook of a run. Without `records` the run cannot be restored from it.

    Args:
        run: the state after the records.
        records: all of its records.
        omitted: how many outputs were left out of the records to limit the size, and their total size in characters.
        outputs: those sanitized for earlier notebooks of this run.
    """
    wanted = _view_settings(run).get("show")  # the records in the metadata are always complete
    show: Show = "selected" if wanted == "selected" else "none" if wanted == "none" else "all"
    cells = Layout(show=show, outputs=outputs).cells(run)
    metadata: dict[str, JsonValue] = {"language_info": {"name": "python"}}
    if run.started:
        environment = run.started.environment
        display = "Python 3 (ipykernel)" if environment.kernel == "python3" else environment.kernel
        metadata["kernelspec"] = {"name": environment.kernel, "display_name": display, "language": "python"}
        metadata["language_info"] = {**_LANGUAGE_INFO, "version": environment.python}
        facts = _run_metadata(run, run.started)
        count, size = omitted
        if count:
            facts["trimmed"] = {"outputs": count, "bytes": size}
            line = f"Large: {plural(count, 'output')} ({size / 1e6:.1f} MB) left out to limit the size"
            cells = [append_item(cell, line) if _is_summary(cell) else cell for cell in cells]
        if records:
            facts["records"] = records.text()
        metadata[NAMESPACE] = facts
    notebook: NotebookNode = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [*cells]}
    )
    return notebook


def _is_summary(cell: Cell) -> bool:
    return (generated_metadata(cell) or {}).get("role") == "summary"


def serialize_notebook(notebook: NotebookNode) -> bytes:
    """Serialize the notebook to exactly the bytes that Jupyter writes when it saves it."""
    lines = _floats_to_integers(split_lines(notebook))  # type: ignore[no-untyped-call]
    return f"{json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True)}\n".encode()


def _floats_to_integers(value: Any) -> Any:
    """Convert whole floats to integers (`60.0` to `60`), because JavaScript does not distinguish them."""
    if isinstance(value, dict):
        return {key: _floats_to_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats_to_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT_INTEGER else value


def stores_prompts(run: RunState) -> bool:
    """Whether the run's settings allow the model's prompts to be stored in the trace."""
    return _view_settings(run).get("prompts") is not False


def _view_settings(run: RunState) -> dict[str, JsonValue]:
    view = run.started.settings.get("view") if run.started else None
    return view if isinstance(view, dict) else {}


def _run_metadata(run: RunState, started: RunStarted) -> dict[str, JsonValue]:
    """Return what is needed to run the task again, readable without folding the records."""
    facts: dict[str, JsonValue] = {
        "schema_version": SCHEMA_VERSION,
        "package_version": started.version,
        "run_id": started.run_id,
        "started": datetime.fromtimestamp(run.started_at, UTC).isoformat(timespec="seconds"),
        "task": _to_json(started.task),
        "settings": started.settings,
        "model": started.model,
        "environment": _to_json(started.environment),
        "usage": _to_json(run.usage),
    }
    if started.resumes:
        facts["resumes"] = started.resumes
    if run.finished:
        facts["verdict"] = _to_json(run.finished.verdict)
    if run.library:
        facts["libraries"] = [_to_json(info) for info in run.library.libraries]
    if run.files:
        facts["files"] = {"folder": run.files.folder, "names": [*run.files.files]}
    return facts


def _to_json(value: Task | Environment | Usage | Verdict | LibraryInfo) -> dict[str, JsonValue]:
    return {key: json.loads(json.dumps(item)) for key, item in asdict(value).items() if item is not None}
