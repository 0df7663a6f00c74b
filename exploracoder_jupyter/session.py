"""The composition root: settings in, wired run out. The only module that names concrete adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exploracoder_jupyter.config import Layer
from exploracoder_jupyter.events import Record
from exploracoder_jupyter.notebook.cells import CellChange
from exploracoder_jupyter.types import Task

Listener = Callable[[Record, Sequence[CellChange]], None]
"""Is told every record, with the cell changes that it causes."""


@dataclass(frozen=True, slots=True)
class Order:
    """A run as ordered by a front end or the command line."""

    task: Task
    layers: tuple[Layer, ...] = ()
    workdir: Path = field(default_factory=Path.cwd)
    notebook: Path | None = None
    cell: str | None = None
    variables: Path | None = None


async def run(order: Order, listen: Listener) -> Mapping[str, object]:
    """Run an exploration to its end and return the summary (the object that `--json` prints)."""
    raise NotImplementedError
