"""The traces beside a notebook."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path


def traces_beside(folder: Path) -> list[Path]:
    """The traces of the notebooks in this folder, oldest first."""
    return sorted((folder / "explorations").glob("*.ipynb"), key=when)


def when(path: Path) -> str:
    """When the trace was last written, to the minute."""
    return datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
