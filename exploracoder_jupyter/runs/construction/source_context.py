"""What a function that opens a source receives, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.events import Event
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.pipeline.ports import Source


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The run for which a source is opened."""

    settings: Settings
    workdir: Path
    notebook: Path | None
    knowledge: TaskLibraries
    """The libraries of the task."""
    clean: Callable[[str], str]
    """Redacts secrets in a text."""
    emit: Callable[[Event], None]
    """Receives notices for the user."""
    stack: AsyncExitStack
    """Closes what is entered into it at the end of the run."""


class OpenSource(Protocol):
    """What an entry point in the group `exploracoder_jupyter.sources` refers to."""

    async def __call__(self, context: SourceContext) -> Source | None:
        """Open the source; `None` if the settings or the libraries of the task do not call for it."""
        ...
