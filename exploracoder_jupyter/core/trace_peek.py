"""What traces say of their runs, read from their ends: quick, however many records it holds.

Anything may come in, for a trace may be somebody else's.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.truncate import one_line

MOST = 32_768
"""Bytes of a trace that tell a run's task and its end, from either end of the file."""
REPLAYED = "-replayed"
"""What the name of a trace ends in that shows another one again."""
_MOST_TASK = 80
_EXPORTED = "-selected.ipynb"
"""How the names of notebooks end that were made from traces."""


@dataclass(frozen=True, slots=True)
class OlderTrace:
    """A trace as it lies on the disk."""

    path: Path
    changed: float
    """Seconds since the epoch."""
    started: float | None = None
    """When its run began, likewise, if the file tells it."""
    task: str = ""
    """The beginning of its task, on one line."""
    outcome: str = ""
    """As in a verdict; empty where the file does not tell it."""
    run: str = ""
    """The id of its run, likewise."""


def is_there(path: Path | str) -> bool:
    """Whether it can be seen that there is such a file: not in a folder that is closed to us or has lost its disk."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def facts_of(path: Path, *names: str, most: int = MOST) -> dict[str, Any]:
    """What a trace says of its run under these names, read from `most` bytes: `None` where it is not whole in them.

    A trace ends with it, behind the long records; one of version 1 that Jupyter has not saved begins with it.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(most).decode("utf-8", "replace")
        file.seek(-min(most, path.stat().st_size), os.SEEK_END)
        tail = file.read().decode("utf-8", "replace")
    at_the_end = head.lstrip("{ \n").startswith('"cells"')
    return {name: _value(*(tail.rpartition if at_the_end else head.partition)(f'"{name}": ')) for name in names}


def traces_beside(folder: Path) -> list[OlderTrace]:
    """The traces of the notebooks in this folder, oldest first; links that lead nowhere are none, nor what was made
    from traces."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            found += [] if path.name.endswith(_EXPORTED) else [_look(path)]
    return sorted(found, key=lambda trace: trace.changed)


def _value(_: str, found: str, rest: str) -> Any:
    """What stands behind a field's name; in a string the quotes around a name are escaped."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None


def _look(path: Path) -> OlderTrace:
    found = facts_of(path, "task", "verdict", "started", "run_id")
    changed = path.stat().st_mtime
    task, verdict = found["task"], found["verdict"]
    return OlderTrace(
        path,
        changed,
        _seconds(found["started"]),
        _words(task.get("text")) if isinstance(task, dict) else "",
        _words(verdict.get("outcome")) if isinstance(verdict, dict) else "",
        _words(found["run_id"]),
    )


def _words(value: object) -> str:
    """A text on one line, clipped, without what a terminal would obey: the file may be anybody's."""
    line = one_line(value, MOST) if isinstance(value, str) else ""
    return one_line("".join(filter(str.isprintable, line)), _MOST_TASK)


def _seconds(moment: object) -> float | None:
    with suppress(ValueError, OverflowError, OSError):
        seconds = datetime.fromisoformat(str(moment)).timestamp()
        datetime.fromtimestamp(seconds)  # some moments can be read and not be told
        return seconds
    return None
