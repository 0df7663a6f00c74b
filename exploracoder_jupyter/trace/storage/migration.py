"""Migrates traces of earlier versions to the current format, and detects those of later ones.

Each step converts the raw records of one version to the next. Steps are only ever added, never changed, so that traces
of every version stay readable. New fields need no step, since they have a default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Unmet
from exploracoder_jupyter.trace.metadata_namespace import SCHEMA_VERSION

Raw: TypeAlias = dict[str, JsonValue]
"""A record as JSON, read from a file and not yet checked."""

_UNMET_NOTES: Final[dict[str, Unmet]] = {"The program ran, but the check": "check", "The program ran": "name"}
"""How the note of an observation began in version 2 where the program did not fulfill this."""


def _migrate_1_to_2(records: list[Raw]) -> list[Raw]:
    """Drop progress events, which version 1 stored although they are only displayed."""
    return [record for record in records if _event(record).get("kind") != "progress"]


def _migrate_2_to_3(records: list[Raw]) -> list[Raw]:
    """Insert what a program did not fulfill where it was recorded only in the note of its observation, in place."""
    for record in records:
        match _event(record):
            case {"kind": "candidate_observed", "observation": {"note": str(note)} as observation}:
                unmet = (unmet for start, unmet in _UNMET_NOTES.items() if note.startswith(start))
                observation.setdefault("unmet", next(unmet, ""))
    return records


def _event(record: object) -> dict[str, Any]:
    event = record.get("event") if isinstance(record, dict) else None  # validation passes unchecked values
    return event if isinstance(event, dict) else {}


STEPS: Final[dict[int, Callable[[list[Raw]], list[Raw]]]] = {1: _migrate_1_to_2, 2: _migrate_2_to_3}
"""Migration steps by the version that they start from."""


def migrate(records: list[Raw], version: int) -> list[Raw]:
    """Migrate records to the current version; those of later versions are returned unchanged."""
    for start in range(version, SCHEMA_VERSION):
        records = STEPS[start](records)
    return records


def version_of(facts: object) -> int:
    """Return the version in a trace's metadata or a journal's first line; 1 if it has none."""
    version = facts.get("schema_version") if isinstance(facts, dict) else None
    return version if isinstance(version, int) and version > 0 else 1


def newer_version_message(version: int) -> str:
    """Describe that a trace is of a later version; empty if the version is supported."""
    if version <= SCHEMA_VERSION:
        return ""
    return (
        f"This trace was written by a later version of exploracoder_jupyter (trace format {version}; this version "
        f"supports up to {SCHEMA_VERSION}). Events that it does not know are skipped."
    )
