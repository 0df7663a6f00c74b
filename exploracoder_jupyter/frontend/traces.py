"""The traces beside a notebook."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_HEAD = 32_768
"""Bytes of a trace that are read: it begins with what is known of the run, before the long records and the cells."""
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
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace")
    changed = path.stat().st_mtime
    task, verdict = first_value(head, "task"), first_value(head, "verdict")
    text = " ".join(str(task.get("text", "")).split()) if isinstance(task, dict) else ""
    return OlderTrace(
        path,
        changed,
        _seconds(first_value(head, "started")),
        text if len(text) <= _MOST_TASK else f"{text[: _MOST_TASK - 1]}…",
        str(verdict.get("outcome", "")) if isinstance(verdict, dict) else "",
    )


def first_value(head: str, name: str) -> Any:
    """What the first field of this name holds in the beginning of a trace, if it is whole; in a string the quotes
    around a name are escaped."""
    _, found, rest = head.partition(f'"{name}": ')
    with suppress(ValueError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None


def _seconds(moment: object) -> float | None:
    with suppress(ValueError, TypeError):
        return datetime.fromisoformat(str(moment)).timestamp()
    return None
