"""Validates a notebook against the shipped JSON schema of traces."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from typing import Any, Final

import nbformat
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from nbformat import NotebookNode

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.trace.markdown import clip
from exploracoder_jupyter.trace.metadata import schema
from exploracoder_jupyter.trace.storage import newer_version_message, unpack_records, version_of

_MAX_PROBLEMS: Final = 20
_MAX_LENGTH: Final = 300


def find_problems(notebook: NotebookNode) -> list[str]:
    """List the problems of a trace, one sentence each, at most twenty; empty if it is valid."""
    found = chain(_format_problems(notebook), _metadata_problems(notebook), _cell_problems(notebook))
    return [*islice(found, _MAX_PROBLEMS)]


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
        yield from _format_errors("metadata", _validator("notebook").iter_errors(metadata))
        yield from _record_problems(metadata["records"]) if "records" in metadata else ()


def _cell_problems(notebook: NotebookNode) -> Iterator[str]:
    cells = notebook.get("cells")
    for cell in cells if isinstance(cells, list) else []:
        if (metadata := _package_metadata(cell)) is not None:
            yield from _format_errors(f"cell {cell.get('id')}", _cell_validator().iter_errors(metadata))


def _record_problems(packed: object) -> Iterator[str]:
    try:
        for number, record in enumerate(unpack_records(packed)):
            yield from _format_errors(f"record {number}", _validator("record").iter_errors(record))
    except UsageError as error:
        yield error.message


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
def _validator(name: str) -> Draft202012Validator:
    definitions: Any = schema()["$defs"]
    return Draft202012Validator({**definitions[name], "$defs": definitions})
