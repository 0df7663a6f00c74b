"""Traces of earlier versions, brought to the form that is read today; and what is said of those of later ones.

A step takes the raw records of its version and gives those of the next. Steps are only ever added, never changed: a
trace of any version opens for ever. Fields that were merely added need no step, since they have a default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.trace.cell_metadata import SCHEMA_VERSION

Raw: TypeAlias = dict[str, JsonValue]
"""A record as JSON, read from a file and not yet checked."""


def one_to_two(records: list[Raw]) -> list[Raw]:
    """Version 1 kept progress, which is shown and is no part of a run."""
    return [record for record in records if _kind(record) != "progress"]


STEPS: Final[dict[int, Callable[[list[Raw]], list[Raw]]]] = {1: one_to_two}
"""By the version that they start from."""


def migrated(records: list[Raw], version: int) -> list[Raw]:
    """The records as this version writes them; those of later versions as they are."""
    for start in range(version, SCHEMA_VERSION):
        records = STEPS[start](records)
    return records


def version_of(facts: object) -> int:
    """The version that a trace's metadata, or the head of a journal, says; 1 where it says none."""
    version = facts.get("schema_version") if isinstance(facts, dict) else None
    return version if isinstance(version, int) and version > 0 else 1


def too_new(version: int) -> str:
    """A sentence on a trace of a later version; empty where it is known."""
    if version <= SCHEMA_VERSION:
        return ""
    return (
        f"This trace was written by a later version of exploracoder_jupyter (form {version}; this one knows up to "
        f"{SCHEMA_VERSION}): what is new in it is left out."
    )


def _kind(record: JsonValue) -> JsonValue:
    event = record.get("event") if isinstance(record, dict) else None  # whoever looks for problems has not sorted them
    return event.get("kind") if isinstance(event, dict) else None
