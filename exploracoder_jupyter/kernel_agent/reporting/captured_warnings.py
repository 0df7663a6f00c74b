"""Hears the warnings and the log records of a cell, and leaves what becomes of them as it is.

Nothing is added to the loggers (the mere presence of a handler keeps `logging` from its last resort), no filter of
warnings is touched. What has been put over these functions meanwhile stays.
"""

from __future__ import annotations

import functools
import logging
import warnings
from typing import Any

_MOST = 20
_LONGEST = 300


class Caught:
    """The warnings and the log records of one cell at a time."""

    def __init__(self) -> None:
        self._warnings: dict[str, int] = {}
        self._logs: dict[str, int] = {}
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self._listening: object = None
        """New each time: who kept one of these functions has it put back in a later cell."""

    def begin(self) -> None:
        """Listen, from now on and anew."""
        self.end()
        self._warnings, self._logs, self._listening = {}, {}, object()
        self._wrap(warnings, "showwarning", self._hear_warning)
        self._wrap(logging.Logger, "callHandlers", self._hear_record)

    def end(self) -> tuple[list[str], list[str]]:
        """Listen no longer; what was heard: warnings, and log records of level WARNING and above, a line each."""
        for owner, name, before, ours in self._undo:
            if getattr(owner, name, None) is ours:
                setattr(owner, name, before)
        self._undo.clear()
        self._listening = None
        return _lines(self._warnings), _lines(self._logs)

    def _wrap(self, owner: Any, name: str, hear: Any) -> None:
        before, listening = getattr(owner, name), self._listening

        @functools.wraps(before)
        def heard(*arguments: Any, **named: Any) -> Any:
            try:
                if self._listening is listening:
                    hear(*arguments)
            except Exception:  # what cannot be told is not told
                pass
            return before(*arguments, **named)

        self._undo.append((owner, name, before, heard))
        setattr(owner, name, heard)

    def _hear_warning(self, message: Any, category: Any, *_more: Any) -> None:
        _count(self._warnings, f"{category.__name__}: {message}")

    def _hear_record(self, _logger: logging.Logger, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            _count(self._logs, f"{record.levelname} {record.name}: {record.getMessage()}")


def _count(lines: dict[str, int], text: str) -> None:
    line = " ".join(text[: 2 * _LONGEST].split())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
    if line in lines or len(lines) < _MOST:
        lines[line] = lines.get(line, 0) + 1
    else:
        lines["and others"] = lines.get("and others", 0) + 1


def _lines(counted: dict[str, int]) -> list[str]:
    return [f"{line} (x{count})" if count > 1 else line for line, count in counted.items()]
