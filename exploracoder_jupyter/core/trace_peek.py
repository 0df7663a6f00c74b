"""Reads a run's summary from the beginning or end of its trace file: fast, however many records the trace holds.

The content is untrusted, because a trace may come from another user.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.message_formatting import one_line

PEEK_BYTES = 32_768
"""Bytes to read at either end of a trace file, enough for the run's task and its verdict."""
REPLAYED_SUFFIX = "-replayed"
"""Suffix of the stem of a trace that is a replay of another one."""
_MAX_TASK = 80
_EXPORT_SUFFIX = "-selected.ipynb"
"""Suffix of notebooks that were exported from traces."""


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Summary of a trace file."""

    path: Path
    changed: float
    """Modification time, in seconds since the epoch."""
    started: float | None = None
    """When the run started, in seconds since the epoch; `None` if the file does not contain it."""
    task: str = ""
    """The beginning of the task, on one line."""
    outcome: str = ""
    """As in a verdict; empty if the file does not contain it."""
    run: str = ""
    """Id of the run; empty if the file does not contain it."""


def path_exists(path: Path | str) -> bool:
    """Return whether the file exists; False if that cannot be determined (no permission, a disconnected disk)."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_facts(path: Path, *names: str, most: int = PEEK_BYTES) -> dict[str, Any]:
    """Read these metadata fields from `most` bytes of a trace; a field not completely contained in them is `None`.

    The fields are at the end of a trace, after the long records. Raises OSError.
    """
    with path.open("rb") as file:
        file.seek(-min(most, path.stat().st_size), os.SEEK_END)
        tail = file.read().decode("utf-8", "replace")
    return {name: _decode_after(*tail.rpartition(f'"{name}": ')) for name in names}


def list_traces(folder: Path) -> list[TraceSummary]:
    """List the traces of the notebooks in this folder, oldest first, without broken links and exported notebooks."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            if path.is_file() and not path.name.endswith(_EXPORT_SUFFIX):  # reading a named pipe would never end
                found.append(_read_summary(path))
    return sorted(found, key=lambda trace: trace.changed)


def _decode_after(_: str, found: str, rest: str) -> Any:
    """Decode the JSON value after a field's name. A quoted name within a string is escaped, so it does not match."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None


def _read_summary(path: Path) -> TraceSummary:
    found = read_facts(path, "task", "verdict", "started", "run_id")
    task, verdict = found["task"], found["verdict"]
    return TraceSummary(
        path,
        path.stat().st_mtime,
        _parse_time(found["started"]),
        _clean_text(task.get("text")) if isinstance(task, dict) else "",
        _clean_text(verdict.get("outcome")) if isinstance(verdict, dict) else "",
        _clean_text(found["run_id"]),
    )


def _clean_text(value: object) -> str:
    """Return the text on one line, truncated, without control characters: the file is untrusted."""
    line = one_line(value, PEEK_BYTES) if isinstance(value, str) else ""
    return one_line("".join(filter(str.isprintable, line)), _MAX_TASK)


def _parse_time(moment: object) -> float | None:
    with suppress(ValueError, OverflowError, OSError):
        seconds = datetime.fromisoformat(str(moment)).timestamp()
        datetime.fromtimestamp(seconds)  # some times can be parsed but not formatted
        return seconds
    return None
