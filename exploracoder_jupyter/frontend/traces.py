"""The traces beside a notebook."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from exploracoder_jupyter.oneline import one_line
from exploracoder_jupyter.trace_ends import facts_of as facts_of

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
    run: str = ""
    """The id of its run, likewise."""


def traces_beside(folder: Path) -> list[OlderTrace]:
    """The traces of the notebooks in this folder, oldest first; links that lead nowhere are none."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            found.append(_look(path))
    return sorted(found, key=lambda trace: trace.changed)


def _look(path: Path) -> OlderTrace:
    found = facts_of(path, "task", "verdict", "started", "run_id", most=_MOST)
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
    line = one_line(value, _MOST) if isinstance(value, str) else ""
    return one_line("".join(filter(str.isprintable, line)), _MOST_TASK)


def _seconds(moment: object) -> float | None:
    with suppress(ValueError, OverflowError, OSError):
        seconds = datetime.fromisoformat(str(moment)).timestamp()
        datetime.fromtimestamp(seconds)  # some moments can be read and not be told
        return seconds
    return None
