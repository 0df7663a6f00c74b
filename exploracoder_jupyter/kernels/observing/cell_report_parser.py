"""Parses the report that a sibling sends after each cell (`kernel_agent.reporting.cell_report`) as untrusted input.

Malformed parts are dropped, and every text and list is limited in length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from exploracoder_jupyter.core.types import Change
from exploracoder_jupyter.kernels.observing.output_text import TEXT_BUDGET, cut_middle
from exploracoder_jupyter.text.terminal_text import strip_ansi

_CHANGE_KINDS: Final = ("new", "rebound", "mutated")
_MAX_CHANGES: Final = 60
_MAX_LINES: Final = 20
_MAX_FILES: Final = 60
_LONGEST_NAME: Final = 200
_LONGEST_SUMMARY: Final = 1000
_LONGEST_LINE: Final = 300
_SUMMARY_BUDGET: Final = 20_000
"""Characters of all summaries together, of which only a part is shown at a time."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class Failure(NamedTuple):
    """Why a cell failed, in the form sent to the model."""

    report: str = ""
    schema: str = ""
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What a cell did besides producing outputs."""

    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    memory: int = 0
    failure: Failure = Failure()  # noqa: RUF009

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """New and rebound names with their types."""
        return tuple((change.name, change.type) for change in self.changes if change.how != "mutated")


def parse_cell_outcome(content: object) -> CellOutcome:
    """Parse the content of the message, as far as it has the expected form."""
    found = content if isinstance(content, dict) else {}
    memory = found.get("memory")
    return CellOutcome(
        tuple(_changes(found.get("changes"))),
        tuple(_lines(found.get("warnings"))),
        tuple(_lines(found.get("logs"))),
        tuple(_lines(found.get("files"), _MAX_FILES)),
        memory if type(memory) is int and 0 < memory < 2**53 else 0,
        _failure(found.get("failure")),
    )


def _changes(found: object) -> Iterator[Change]:
    remaining = _SUMMARY_BUDGET
    for item in found[:_MAX_CHANGES] if isinstance(found, list) else []:
        if not isinstance(item, dict) or item.get("how") not in _CHANGE_KINDS:
            continue
        name, type_, before = (_text(item.get(key), _LONGEST_NAME) for key in ("name", "type", "before"))
        summary, schema = (_text(item.get(key), min(remaining, _LONGEST_SUMMARY)) for key in ("summary", "schema"))
        remaining = max(0, remaining - len(summary) - len(schema))
        if name:
            yield Change(name, item["how"], type_, summary, schema, before)


def _lines(found: object, limit: int = _MAX_LINES) -> Iterator[str]:
    for item in found[:limit] if isinstance(found, list) else []:
        if line := _text(item, _LONGEST_LINE):
            yield " ".join(line.split())


def _failure(found: object) -> Failure:
    if not isinstance(found, dict):
        return Failure()
    report, schema = (_text(found.get(key), TEXT_BUDGET) for key in ("report", "schema"))
    return Failure(report, schema, tuple(_lines(found.get("nearest"))))


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str) or limit <= 0:
        return ""
    return cut_middle(_CONTROLS.sub("", strip_ansi(value)).strip(), limit)
