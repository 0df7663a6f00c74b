"""Loads the records of a trace named by the user, and explains why if the file is not a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record, RunStarted
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.storage.stored_records import run_metadata


def load_records(path: Path) -> list[Record]:
    """Load the records of a notebook or a journal. UsageError: the file is not the trace of a run."""
    try:
        return load(path)
    except UsageError as error:
        raise (_reason(path) or error) from None


def load_started_run(path: Path) -> tuple[list[Record], RunState, RunStarted]:
    """Load the records of a trace with the state after them and the start of the run, without which UsageError."""
    records = load_records(path)
    run = fold_all(records)
    if run.started is None:
        raise UsageError(f"The trace {path.name} does not record which task was run.", remedy="Explore it again.")
    return records, run, run.started


def _reason(path: Path) -> UsageError | None:
    """Return why no records could be loaded, if something more specific is known."""
    from exploracoder_jupyter.runs.trace_check.explored_notebook import find_explorations  # avoids a circular import

    if not path.exists():
        return UsageError(f"There is no file {str(path)!r}.", remedy="Name the trace of a run.")
    content, metadata = b"", dict[str, Any]()
    try:
        content = path.read_bytes()
        metadata = run_metadata(json.loads(content))
    except (OSError, ValueError, RecursionError):
        if b'"exploracoder_jupyter"' in content:
            message = f"{str(path)!r} is damaged, and there is no journal beside it."
            return UsageError(message, remedy="Use a backup copy if you have one, or explore again.")
    if metadata and "records" not in metadata:
        message = f"{str(path)!r} was exported from a trace, and does not contain the run itself."
        return UsageError(message, remedy="Name the original trace.")
    if traces := ", ".join(str(found.trace) for found in find_explorations(path)):
        message = f"{str(path)!r} is not a trace, but contains explorations with the trace {traces}."
        return UsageError(message, remedy="Name the trace.")
    return None
