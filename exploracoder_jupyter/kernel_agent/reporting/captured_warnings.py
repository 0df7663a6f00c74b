"""Captures the warnings and log records of a cell without changing how they are handled.

Adds no handler (any handler keeps `logging` from using its last resort) and changes no warning filter. If other code
has replaced the patched functions in the meantime, its replacement stays.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from collections import Counter
from typing import Any

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
