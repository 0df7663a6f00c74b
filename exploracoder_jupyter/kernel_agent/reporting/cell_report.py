"""Reports after each cell what it did: changes to names and files, warnings, and failures."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from exploracoder_jupyter.kernel_agent.confinement.file_copies import CACHES, FileStates, file_states
from exploracoder_jupyter.kernel_agent.reporting import failure_report
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import attempt
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import (
    bound_names,
    imported_names,
    is_public,
    mentioned_names,
    type_path,
)
from exploracoder_jupyter.kernel_agent.summaries import display_formatter, python_objects, summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import visible_measure

# Captures the warnings and log records of a cell without changing how they are handled.
#
# Adds no handler (any handler keeps `logging` from using its last resort) and changes no warning filter. If other
# code has replaced the patched functions in the meantime, its replacement stays.

_MAX_LINES = 20
_MAX_LINE_LENGTH = 300
_EXIT_HINT = "To exit: use 'exit', 'quit'"
"""How IPython's advice after `SystemExit` begins, which is for a person who types."""


class WarningCapture:
    """Captures the warnings and log records of one cell at a time."""

    def __init__(self) -> None:
        self._warnings: Counter[str] = Counter()
        self._logs: Counter[str] = Counter()
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self._capture_id: object = None
        """New for each cell: code that kept a wrapper of an earlier cell may restore it later."""

    def start(self) -> None:
        """Start capturing, discarding earlier results."""
        self.stop()
        self._warnings, self._logs, self._capture_id = Counter(), Counter(), object()
        self._wrap(warnings, "showwarning", self._record_warning)
        self._wrap(logging.Logger, "callHandlers", self._record_log)

    def stop(self) -> tuple[list[str], list[str]]:
        """Stop capturing; return warnings, and log records of level WARNING and above, one line each."""
        for owner, name, original, wrapper in self._undo:
            if getattr(owner, name, None) is wrapper:
                setattr(owner, name, original)
        self._undo.clear()
        self._capture_id = None
        return _lines(self._warnings), _lines(self._logs)

    def _wrap(self, owner: Any, name: str, record_call: Any) -> None:
        """Call `record_call` before the function, and not the function where it returns true."""
        original, capture_id = getattr(owner, name), self._capture_id

        @functools.wraps(original)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            with contextlib.suppress(Exception):  # skip what cannot be formatted
                if self._capture_id is capture_id and record_call(*arguments):
                    return None
            return original(*arguments, **options)

        self._undo.append((owner, name, original, wrapper))
        setattr(owner, name, wrapper)

    def _record_warning(self, message: Any, category: Any, *_more: Any) -> bool:
        text = str(message)
        if is_dropped := text.startswith(_EXIT_HINT):
            return is_dropped
        _count(self._warnings, f"{category.__name__}: {text}")
        return False

    def _record_log(self, _logger: logging.Logger, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            _count(self._logs, f"{record.levelname} {record.name}: {record.getMessage()}")


def _count(lines: Counter[str], text: str) -> None:
    line = " ".join(text[: 2 * _MAX_LINE_LENGTH].split())
    line = line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 3]}..."
    lines[line if line in lines or len(lines) < _MAX_LINES else "and others"] += 1


def _lines(counted: Counter[str]) -> list[str]:
    return [f"{line} (x{count})" if count > 1 else line for line, count in counted.items()]


# Detects what a cell did to names: new ones, rebound ones, and objects that have visibly changed.
#
# Objects of known types are compared by a cheap measure (`summaries.summarizer_registry`), those of the user's own
# classes by their attributes. No code of a value is run.

_SECONDS_MENTIONED = 0.02
_SECONDS_OTHERS = 0.005
"""Processor time: on a busy machine the clock would end before anything is measured."""


class Snapshot(NamedTuple):
    """What was recorded about a value."""

    identity: int
    measure: str | None
    """See `facts.Measure`; None if nothing is known or time ran out."""


class NameChange(NamedTuple):
    """A name that is new, or whose value is new or different."""

    name: str
    how: Literal["new", "rebound", "mutated"]
    value: Any
    before: str
    """Previous shape or size, if known and different."""
    imported: bool


def take_snapshot(namespace: Mapping[str, Any], code: str) -> dict[str, Snapshot]:
    """Measure the public names as time allows: first those mentioned in the code, then the most recently bound."""
    others = {name: value for name, value in reversed(list(namespace.items())) if is_public(name)}
    mentioned = {name: others.pop(name) for name in mentioned_names(code) if name in others}
    found = {}
    for values, seconds in ((mentioned, _SECONDS_MENTIONED), (others, _SECONDS_OTHERS)):
        deadline = time.thread_time() + seconds
        found.update({name: Snapshot(id(value), _measure(value, deadline)) for name, value in values.items()})
    return found


def _measure(value: Any, deadline: float) -> str | None:
    if time.thread_time() >= deadline:
        return None
    try:
        known = summarizer_registry.find(value)
        if known is None:
            return python_objects.fingerprint(value)
        return known.measure(value) if known.measure and known.own else None
    except Exception:  # partly loaded library, or a class with an odd name
        return None


def find_changes(before: Mapping[str, Snapshot], namespace: Mapping[str, Any], code: str) -> list[NameChange]:
    """Return the changes since the snapshot: names that the code mentions last come first, imports come last."""
    bound, imported = bound_names(code), imported_names(code)
    after = take_snapshot(namespace, code)
    changes = []
    for name, new in after.items():
        old = before.get(name)
        how = _change_kind(old, new, name in bound)
        if how and name in namespace:
            shapes = [visible_measure(one.measure or "") if one else "" for one in (old, new)]
            shape = shapes[0] if shapes[0] != shapes[1] else ""
            changes.append(NameChange(name, how, namespace[name], shape, name in imported))
    rank = {name: position for position, name in enumerate(mentioned_names(code))}
    return sorted(changes, key=lambda change: (change.imported, -rank.get(change.name, -1)))


def _change_kind(old: Snapshot | None, new: Snapshot, bound: bool) -> Literal["new", "rebound", "mutated"] | None:
    if old is None:
        return "new"
    if bound or old.identity != new.identity:
        return "rebound"
    differs = old.measure is not None and new.measure is not None and old.measure != new.measure
    return "mutated" if differs else None


# Tracks which files below the working directory a cell has written.
#
# Folders with too many entries, and those that repeatedly take too long to scan, are skipped from then on, as the
# scan must cost next to nothing.

_SKIPPED = CACHES | {".git"}
_MAX_ENTRIES = 2_000
_MAX_FILES = 60
_MAX_SECONDS = 0.05
_MAX_SLOW_SCANS = 2
"""Slow scans after which a folder is skipped. A single one says more about the machine than about the folder."""


class FileTracker:
    """Tracks changes in the working directory, one cell at a time."""

    def __init__(self) -> None:
        self._folder = ""
        self._initial: FileStates | None = None
        self._skipped_folders: set[str] = set()
        self._slow_scans: Counter[str] = Counter()

    def start(self) -> None:
        """Record the current state."""
        self._folder = ""
        with contextlib.suppress(OSError):  # it may have been removed
            self._folder = os.getcwd()
        self._initial = self._scan()

    def stop(self) -> list[str]:
        """Return the files written since `start`; none if the folder has too many entries."""
        before = self._initial
        if before is None or (after := self._scan()) is None:
            return []
        return sorted(path for path, state in after.items() if before.get(path) != state)[:_MAX_FILES]

    def _scan(self) -> FileStates | None:
        if not self._folder or self._folder in self._skipped_folders:
            return None
        deadline, entries = time.monotonic() + _MAX_SECONDS, 0
        result: FileStates = {}
        for parent, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            entries += len(folders) + len(names)
            slow = time.monotonic() > deadline
            if slow:
                self._slow_scans[self._folder] += 1
            if entries > _MAX_ENTRIES or self._slow_scans[self._folder] >= _MAX_SLOW_SCANS:
                self._skipped_folders.add(self._folder)
                return None
            if slow:
                return None
            result |= file_states(self._folder, parent, names)
        return result


# Reports after each cell what it did: changes to names and files, warnings, log records, and why it failed.
#
# The report leaves the kernel as one display message of a private MIME type, which the receiver removes from the
# outputs. This needs no further request, and no lookup in the namespace, which the cell may have broken. No code of
# a value runs in this process.

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
        self._warnings, self._files = WarningCapture(), FileTracker()
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
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
