"""Loads the records of a trace named by the user, and explains why if the file is not a trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.storage.stored_records import run_metadata


def load_records(path: Path) -> list[Record]:
    """Load the records of a notebook or a journal. UsageError: the file is not the trace of a run."""
    try:
        return load(path)
    except UsageError as error:
        raise next(_reasons(path), error) from None


def _reasons(path: Path) -> Iterator[UsageError]:
    """Yield the reasons why no records could be loaded, most specific first."""
    from exploracoder_jupyter.runs.trace_check.explored_notebook import find_explorations  # avoids a circular import

    if not path.exists():
        yield UsageError(f"There is no file {str(path)!r}.", remedy="Name the trace of a run.")
    elif (metadata := _metadata(path)) is None:
        message = f"{str(path)!r} is damaged, and there is no journal beside it."
        yield UsageError(message, remedy="Use a backup copy if you have one, or explore again.")
    elif metadata and "records" not in metadata:
        message = f"{str(path)!r} was exported from a trace, and does not contain the run itself."
        yield UsageError(message, remedy="Name the original trace.")
    elif traces := ", ".join(str(found.trace) for found in find_explorations(path)):
        yield UsageError(
            f"{str(path)!r} is not a trace, but contains explorations with the trace {traces}.",
            remedy="Name the trace.",
        )


def _metadata(path: Path) -> dict[str, Any] | None:
    content = b""
    try:
        content = path.read_bytes()
        return run_metadata(json.loads(content))
    except (OSError, ValueError, RecursionError):
        return None if b'"exploracoder_jupyter"' in content else {}
