"""Validates a notebook against the shipped JSON schema of traces."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import nbformat
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from nbformat import NotebookNode

from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.metadata_namespace import SCHEMA_VERSION, schema
from exploracoder_jupyter.trace.storage.migration import migrate, newer_version_message, version_of
from exploracoder_jupyter.trace.storage.shared_content import inline_content

_MAX_PROBLEMS: Final = 20
_MAX_LENGTH: Final = 300


def find_problems(notebook: NotebookNode) -> list[str]:
    """List the problems of a trace, one sentence each, at most twenty; empty if it is valid.

    Traces of earlier versions are migrated first, as when they are loaded.
    """
    found = [*_format_problems(notebook), *_metadata_problems(notebook)]
    cells = notebook.get("cells")
    for cell in cells if isinstance(cells, list) else []:
        if (metadata := _package_metadata(cell)) is not None:
            found += _format_errors(f"cell {cell.get('id')}", _cell_validator().iter_errors(metadata))
    return found[:_MAX_PROBLEMS]


def _format_problems(notebook: NotebookNode) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ids that it adds to cells without one
            nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        yield f"Not a valid notebook: {_clip(str(error.message))}."
    except (AttributeError, AssertionError, TypeError, ValueError, LookupError):  # not a notebook at all
        yield "Not a valid notebook."


def _metadata_problems(notebook: NotebookNode) -> Iterator[str]:
    metadata = _package_metadata(notebook)
    if not isinstance(metadata, dict):
        yield "It is not a trace: its metadata contains no run."
    elif sentence := newer_version_message(version_of(metadata)):
        yield sentence
    else:
        inline_content(metadata)
        version, records = version_of(metadata), metadata.get("records")
        if version != SCHEMA_VERSION and isinstance(records, list):
            metadata["records"] = migrate(records, version)
        checked = {**metadata, "schema_version": SCHEMA_VERSION}
        yield from _format_errors("metadata", _notebook_validator().iter_errors(checked))


def _package_metadata(thing: object) -> Any:
    match thing:
        case {"metadata": {"exploracoder_jupyter": found}}:
            return json.loads(json.dumps(found))
    return None


def _format_errors(place: str, errors: Iterator[ValidationError]) -> Iterator[str]:
    for error in errors:
        deepest = best_match([error]) or error
        path = ".".join(str(part) for part in deepest.absolute_path)
        yield f"{place}{f', {path}' if path else ''}: {_clip(deepest.message)}."


def _clip(text: str) -> str:
    return clip(text, _MAX_LENGTH).rstrip(".")


@cache
def _cell_validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


@cache
def _notebook_validator() -> Draft202012Validator:
    definitions: Any = schema()["$defs"]
    return Draft202012Validator({**definitions["notebook"], "$defs": definitions})
