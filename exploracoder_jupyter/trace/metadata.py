"""The metadata that marks generated cells: one namespace, with a JSON schema that ships beside this file.

Everything that looks for generated cells (export, clean, the labextension, other tools) relies on this namespace alone,
never on tags or positions. Empty fields are omitted rather than null. `schema()` describes the metadata of a cell;
`$defs/notebook` in it describes that of the notebook. New fields do not change the version; a change of meaning does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Literal, TypeAlias

from pydantic import JsonValue

NAMESPACE = "exploracoder_jupyter"
SCHEMA_VERSION = 1

Cell: TypeAlias = dict[str, JsonValue]
"""One notebook cell in nbformat 4.5's form, plain JSON."""

Role = Literal[
    "task",
    "setup",
    "tries",
    "plan",
    "subtask",
    "candidate",
    "test",
    "judgement",
    "outcome",
    "solution",
    "patch",
    "summary",
    "notice",
]

TAG_CANDIDATE = "explora-candidate"
TAG_SELECTED = "explora-selected"
TAG_SOLUTION = "explora-solution"
TAG_SKIP = "skip-execution"
"""nbclient skips cells with this tag, so that they keep their outputs."""


def schema() -> dict[str, JsonValue]:
    """Return a fresh copy of the JSON schema (draft 2020-12) of a generated cell's `metadata.exploracoder_jupyter`."""
    text = files(__package__).joinpath("metadata.schema.json").read_text(encoding="utf-8")
    value: dict[str, JsonValue] = json.loads(text)
    return value


def generated_metadata(cell: Mapping[str, JsonValue], run_id: str | None = None) -> dict[str, JsonValue] | None:
    """Return the cell's metadata in this namespace if it was generated (by this run, if one is given), else `None`."""
    metadata = cell.get("metadata")
    found = metadata.get(NAMESPACE) if isinstance(metadata, dict) else None
    if not isinstance(found, dict) or "role" not in found:
        return None
    return found if run_id in (None, found.get("run_id")) else None
