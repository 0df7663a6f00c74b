"""The notebook of what agents tried, for the user (`mcp --trace`): each variant is a cell with its real outputs.

It is written after each call, so that it is complete however the server ends. Like the log of calls it contains nothing
that looks like a secret; unlike the answers to agents it contains all that was printed, whatever is shared with models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from exploracoder_jupyter.agent_tools.variant_trials import Trial
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.trace.cells import sanitized_outputs
from exploracoder_jupyter.trace.file import serialize_notebook
from exploracoder_jupyter.trace.markdown import span
from exploracoder_jupyter.trace.redaction import Redactor

_MAX_BYTES: Final = 20_000_000
_REDACTOR: Final = Redactor()
_EMPTY: Final = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}}
_PRIVATE: Final = 0o600
"""It contains the user's data."""


@dataclass(slots=True)
class TriesNotebook:
    """Collects the tries of a server."""

    path: Path
    """A file that did not exist before."""
    _calls: int = 0
    _full: bool = False
    _notebook: NotebookNode = field(default_factory=lambda: _node({**_EMPTY, "cells": []}))

    @classmethod
    def create(cls, path: Path) -> TriesNotebook:
        """Write an empty notebook. Raises UsageError: the file exists already, or cannot be written."""
        if path.exists():
            raise UsageError(f"{path} exists already.", remedy="Give --trace the name of a new file.")
        new = cls(path)
        try:
            new._write()
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}.", remedy="Give --trace a file in a folder that exists."
            ) from error
        return new

    def add(self, kernel: str, starts_from: str, check: str, trials: Sequence[Trial]) -> str:
        """Add the variants of a call. Return why they could not be written, as a sentence; empty if they were."""
        if self._full:
            return ""
        self._calls += 1
        self._notebook.cells.extend(self._cells(kernel, starts_from, check, trials))
        try:
            self._full = self._write() > _MAX_BYTES
        except OSError as error:
            return f"The notebook of tries could not be written: {error.strerror}."
        return f"The notebook of tries is full: {self.path.name} gets no more." if self._full else ""

    def _cells(self, kernel: str, starts_from: str, check: str, trials: Sequence[Trial]) -> Iterator[Any]:
        time = datetime.now().astimezone().isoformat(" ", "seconds")
        lines = [f"## Call {self._calls}", f"{time}, kernel {span(kernel)}, from {span(starts_from)}"]
        if check.strip():
            lines.append(f"Check: {span(_REDACTOR.text(check))}")
        yield new_markdown_cell("\n\n".join(lines))  # type: ignore[no-untyped-call]
        for trial in trials:
            yield new_markdown_cell(_heading(trial))  # type: ignore[no-untyped-call]
            outputs = _node(_REDACTOR.outputs(sanitized_outputs(trial.observation)))
            code = _REDACTOR.text(trial.variant.code)
            yield new_code_cell(code, outputs=outputs)  # type: ignore[no-untyped-call]

    def _write(self) -> int:
        """Write the file; return its size in bytes."""
        # A copy, because serializing splits the sources of its argument into lines.
        content = serialize_notebook(deepcopy(self._notebook))
        write_atomic(self.path, content, mode=_PRIVATE)
        return len(content)


def _node(value: Any) -> Any:
    return nbformat.from_dict(value)  # type: ignore[no-untyped-call]


def _heading(trial: Trial) -> str:
    """Say on one line how a variant ended."""
    ended = "ran" if trial.observation.ran else trial.observation.status
    facts = [f"**{span(trial.variant.label)}** {ended}, {trial.observation.seconds:.1f} s"]
    if trial.variant.after:
        facts.append(f"after {span(trial.variant.after)}")
    if trial.checked:
        facts.append(f"check {trial.checked}")
    if trial.same_as:
        facts.append(f"the same as {span(trial.same_as)}")
    return ", ".join(facts)
