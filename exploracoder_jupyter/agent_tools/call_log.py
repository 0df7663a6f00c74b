"""The log of everything that agents have called, for the user: one JSON object a line, in the state folder.

It contains the code that was tried. It is readable by the user alone, and bounded: a full log replaces the one before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sources import history_path
from exploracoder_jupyter.core.secrets.redaction import SecretRedactor

_MAX_BYTES: Final = 5_000_000
_MAX_TEXT: Final = 20_000
_REDACTOR: Final = SecretRedactor()


def calls_path() -> Path:
    """Return the path of the log."""
    return history_path().with_name("agent_calls.jsonl")


@dataclass(frozen=True, slots=True)
class CallLog:
    """Writes the log."""

    path: Path

    def write(self, tool: str, arguments: Mapping[str, object], seconds: float, outcome: str) -> None:
        """Append a call. A log that cannot be written does not stop the call."""
        row: dict[str, JsonValue] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "process": os.getpid(),
            "tool": tool,
            "seconds": round(seconds, 3),
            "outcome": outcome,
            "arguments": {name: _loggable(value) for name, value in arguments.items()},
        }
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size > _MAX_BYTES:
                self.path.replace(self.path.with_suffix(".old.jsonl"))
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(file, "a", encoding="utf-8") as log:
                log.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_calls(path: Path, most: int) -> list[dict[str, JsonValue]]:
    """Return the last calls of the log, newest first; none if there is no log."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    rows = []
    for line in reversed(lines[-most:]):
        with suppress(ValueError):
            rows.append(json.loads(line))
    return [row for row in rows if isinstance(row, dict)]


def _loggable(value: object) -> JsonValue:
    """Return the value as JSON, without what looks like a secret; long texts are cut."""
    if isinstance(value, str):
        return _REDACTOR.redact(value[:_MAX_TEXT])
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _loggable(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_loggable(one) for one in value]
    return _loggable(asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value))
