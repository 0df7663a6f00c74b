"""The traces beside a notebook."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_MOST = 32_768
"""Bytes of a trace that are read."""
_MOST_TASK = 80


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

    @property
    def when(self) -> str:
        """When its run began, or else when it was last written, to the minute."""
        return datetime.fromtimestamp(self.started or self.changed).strftime("%Y-%m-%d %H:%M")


def traces_beside(folder: Path) -> list[OlderTrace]:
    """The traces of the notebooks in this folder, oldest first; links that lead nowhere are none."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            found.append(_look(path))
    return sorted(found, key=lambda trace: trace.changed)


def _look(path: Path) -> OlderTrace:
    found = facts_of(path, "task", "verdict", "started", most=_MOST)
    changed = path.stat().st_mtime
    task, verdict = found["task"], found["verdict"]
    text = " ".join(str(task.get("text", "")).split()) if isinstance(task, dict) else ""
    return OlderTrace(
        path,
        changed,
        _seconds(found["started"]),
        text if len(text) <= _MOST_TASK else f"{text[: _MOST_TASK - 1]}…",
        str(verdict.get("outcome", "")) if isinstance(verdict, dict) else "",
    )


def facts_of(path: Path, *names: str, most: int) -> dict[str, Any]:
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


def _value(_: str, found: str, rest: str) -> Any:
    """What stands behind a field's name; in a string the quotes around a name are escaped."""
    with suppress(ValueError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None


def _seconds(moment: object) -> float | None:
    with suppress(ValueError, TypeError):
        return datetime.fromisoformat(str(moment)).timestamp()
    return None
