"""The records of the trace that somebody has named; or, where the file is none, what it is instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.stored_records import facts_of


def records_of(path: Path) -> list[Record]:
    """The records at this path, of a notebook or a journal.

    Raises:
        UsageError: there is no trace of a run.
    """
    try:
        return load(path)
    except UsageError as error:
        raise next(_reasons(path), error) from None


def _reasons(path: Path) -> Iterator[UsageError]:
    """Why nothing could be read there, as well as the file itself can tell."""
    from exploracoder_jupyter.runs.trace_check.explored_notebook import explorations  # which asks here for the records

    if not path.exists():
        yield UsageError(f"There is no file {str(path)!r}.", remedy="Name the trace of a run.")
    elif (facts := _facts(path)) is None:
        told = f"{str(path)!r} is damaged, and there is no journal beside it."
        yield UsageError(told, remedy="Take a copy of it, if there is one; else explore anew.")
    elif facts and "records" not in facts:
        told = f"{str(path)!r} was made from a trace, and does not hold the run itself."
        yield UsageError(told, remedy="Name the trace that it was made from.")
    elif traces := ", ".join(str(found.trace) for found in explorations(path)):
        yield UsageError(f"{str(path)!r} has explored; its trace is {traces}.", remedy="Name that.")


def _facts(path: Path) -> dict[str, Any] | None:
    """What the file says of a run in its metadata, if anything; `None` where it is one of ours that is torn."""
    content = b""
    try:
        content = path.read_bytes()
        return facts_of(json.loads(content))
    except (OSError, ValueError, RecursionError):
        return None if b'"exploracoder_jupyter"' in content else {}
