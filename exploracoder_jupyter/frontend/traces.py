"""The traces beside a notebook."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OlderTrace:
    """A trace as it lies on the disk."""

    path: Path
    changed: float
    """Seconds since the epoch."""

    @property
    def when(self) -> str:
        """When it was last written, to the minute."""
        return datetime.fromtimestamp(self.changed).strftime("%Y-%m-%d %H:%M")


def traces_beside(folder: Path) -> list[OlderTrace]:
    """The traces of the notebooks in this folder, oldest first; links that lead nowhere are none."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            found.append(OlderTrace(path, path.stat().st_mtime))
    return sorted(found, key=lambda trace: trace.changed)
