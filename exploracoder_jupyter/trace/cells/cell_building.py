"""Builds single generated cells: their ids, metadata, hashes and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Output
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, SCHEMA_VERSION, Cell, Role

Fields: TypeAlias = dict[str, JsonValue]
"""The metadata of a cell beside what all cells have in common."""


def outcome_metadata(run: RunState) -> Fields:
    """Return how the run ended, or that it is running."""
    return {"status": run.finished.verdict.outcome if run.finished else "running"}


def markdown_cell(run: RunState, role: Role, part: str, source: str, fields: Fields) -> Cell:
    """Return a Markdown cell of the run."""
    return {**new_cell(run, role, part, source, fields, []), "cell_type": "markdown"}


def new_cell(run: RunState, role: Role, part: str, source: str, fields: Fields, tags: list[str]) -> Cell:
    """Return a cell of the run that has no type yet."""
    common: dict[str, JsonValue] = {"schema_version": SCHEMA_VERSION, "run_id": run.run_id, "role": role}
    source = encodable(source)
    metadata: dict[str, JsonValue] = {NAMESPACE: {**common, **fields, "source_hash": source_hash(source)}}
    if tags:
        metadata["tags"] = [*tags]
    return {"id": cell_id(run.run_id, role, part), "source": source, "metadata": metadata}


def append_item(cell: Cell, line: str) -> Cell:
    """Append an item to the list at the end of a generated Markdown cell."""
    return with_source(cell, f"{cell['source']}\n- {line}")


def with_source(cell: Cell, source: str) -> Cell:
    """Return the generated cell with another source."""
    metadata = as_dict(cell["metadata"])
    marked: JsonValue = {**as_dict(metadata[NAMESPACE]), "source_hash": source_hash(source)}
    return {**cell, "source": source, "metadata": {**metadata, NAMESPACE: marked}}


def cell_id(run_id: str, role: Role, part: str = "") -> str:
    """Return the id of a generated cell: letters, digits, `-` and `_`, at most 64 characters."""
    natural = "-".join(["explora", run_id, role, *([part.replace(".", "_")] if part else [])])
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", natural) and "_" not in part:
        return natural
    digest = blake2b(f"{run_id}\n{role}\n{part}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"explora-{role}-{digest}"


def source_hash(source: str) -> str:
    """Return a hash of a cell's source, as sixteen hexadecimal digits, which shows whether the cell was edited."""
    return blake2b(source.encode("utf-8", "replace"), digest_size=8).hexdigest()


def as_dict(value: JsonValue) -> dict[str, JsonValue]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def code_cell(cell: Cell, outputs: Iterable[Output], *, hidden: bool = False) -> Cell:
    """Make the cell a code cell with these outputs; `hidden`: whether source and outputs are collapsed."""
    if hidden:
        folded: dict[str, JsonValue] = {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "collapsed": True}
        cell["metadata"] = {**as_dict(cell["metadata"]), **folded}  # both forms are in use by front ends
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": [*outputs]}
