"""Reports after each cell what it did: changes to names and files, warnings, log records, and why it failed.

The report leaves the kernel as one display message of a private MIME type, which the receiver removes from the outputs.
This needs no further request, and no lookup in the namespace, which the cell may have broken. No code of a value runs
in this process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting import failure_report, touched_files
from exploracoder_jupyter.kernel_agent.reporting.call_guards import attempt
from exploracoder_jupyter.kernel_agent.reporting.captured_warnings import WarningCapture
from exploracoder_jupyter.kernel_agent.reporting.changed_names import Snapshot, find_changes, take_snapshot
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import display_formatter

MIME = "application/vnd.exploracoder.cell+json"
_MAX_CHANGES = 60
_MAX_CHARACTERS = 4_000
"""For all summaries together; values beyond this only get their first line."""
_MIN_MEMORY_GROWTH = 1_000_000
"""Bytes of growth that justify a report on their own."""


class CellReporter:
    """Observes the cells of a shell and publishes a report after each."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._summarizer, self._displays = display_formatter.install(shell)
        self._warnings, self._files = WarningCapture(), touched_files.FileTracker()
        self._names: dict[str, Snapshot] | None = None
        self._memory = 0
        self._publisher = shell.display_pub
        """Stored now, as code that captures a cell's outputs replaces the shell's publisher."""
        self.unloaded: dict[str, str] = {}
        """Why variables that were sent to this kernel could not be loaded."""
        self._running: tuple[str, object] | None = None
        """Code of the outermost running cell, and the message that requested it; none if there is no kernel."""
        shell.events.register("pre_run_cell", self._start_cell)
        shell.events.register("post_run_cell", self._finish_cell)

    @classmethod
    def of(cls, shell: Any) -> CellReporter:
        """Return the shell's reporter, creating it if there is none."""
        if not hasattr(shell, "explora_cell_reporter"):
            shell.explora_cell_reporter = cls(shell)
        reporter: CellReporter = shell.explora_cell_reporter
        return reporter

    def describe(self, names: Sequence[str]) -> str:
        """Return type and schema of these variables by name, or what is `missing`, as JSON; without any data."""
        space = self._shell.user_ns
        existing = [name for name in names if name in space]
        summaries = self._summarizer.tell([space[name] for name in existing])
        described: dict[str, dict[str, str]] = {
            name: {"type": type_path(space[name]), "schema": summary.schema}
            for name, summary in zip(existing, summaries, strict=True)
        }
        described.update((name, {"missing": self.unloaded.get(name, "")}) for name in names if name not in space)
        return json.dumps(described)

    def _start_cell(self, info: Any) -> None:
        request = getattr(self._shell, "parent_header", None)
        if self._running is not None and self._running[1] is request:
            return  # a cell run by another cell, for example by `%%capture`, is part of that cell
        self._running = info.raw_cell, request
        # A cell may break whatever these functions need.
        self._names = attempt(self._snapshot, info.raw_cell, default=None)
        self._memory = _memory()
        for function in (self._displays.renew, self._files.start, self._warnings.start):
            attempt(function, default=None)

    def _snapshot(self, cell: str) -> dict[str, Snapshot] | None:
        return take_snapshot(self._shell.user_ns, self._shell.transform_cell(cell))

    def _finish_cell(self, result: Any) -> None:
        if self._running is None or self._running[0] != result.info.raw_cell:
            return
        self._running = None
        try:
            self._displays.renew()
            content = self._content(result)
            if content["memory"] > _MIN_MEMORY_GROWTH or any(content[key] for key in content if key != "memory"):
                self._publisher.publish({MIME: content})
        except Exception:  # a cell may have broken anything in this process; then there is no report
            return

    def _content(self, result: Any) -> dict[str, Any]:
        warnings, logs = attempt(self._warnings.stop, default=([], []))
        error = result.error_in_exec or result.error_before_exec
        return {
            "memory": max(0, _memory() - self._memory),
            "changes": attempt(lambda: list(self._changes(result)), default=[]),
            "warnings": warnings,
            "logs": logs,
            "files": attempt(self._files.stop, default=[]),
            "failure": failure_report.build_report(error, self._shell.user_ns) if error is not None else None,
        }

    def _changes(self, result: Any) -> Iterator[dict[str, str]]:
        if self._names is None:
            return
        code = self._shell.transform_cell(result.info.raw_cell)
        changes = find_changes(self._names, self._shell.user_ns, code)[:_MAX_CHANGES]
        summaries = self._summarizer.tell([change.value for change in changes])
        remaining = _MAX_CHARACTERS
        for change, summary in zip(changes, summaries, strict=True):
            complete = not change.imported and len(summary.text) <= remaining
            text, schema = summary if complete else map(_first_line, summary)
            remaining -= len(text)
            yield {
                "name": change.name,
                "how": change.how,
                "type": type_path(change.value),
                "summary": text,
                "schema": schema,
                "before": change.before,
            }


def _first_line(text: str) -> str:
    line, _, more = text.partition("\n")
    return f"{line}\n  ... more cut" if more else line


def _memory() -> int:
    """Return the resident memory of this process in bytes, 0 where the system does not provide it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
