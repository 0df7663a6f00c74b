"""Which cells of a trace are not as the run made them: what is shown has to be what the records tell.

Code and outputs of tried programs are compared with the notebook that the records make. Words are told from edited ones
by their hash where another version of this package may have put them otherwise. Cells that a person has added are
passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import nbformat
from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter import __version__
from exploracoder_jupyter.events import Record, RunStarted
from exploracoder_jupyter.notebook.compare import Seen, difference, seen
from exploracoder_jupyter.notebook.homes import Homes
from exploracoder_jupyter.notebook.layout import source_hash
from exploracoder_jupyter.notebook.parts import joined
from exploracoder_jupyter.notebook.redact import Redactor
from exploracoder_jupyter.notebook.schema import NAMESPACE, SCHEMA_VERSION, ours
from exploracoder_jupyter.notebook.trace import render
from exploracoder_jupyter.types import ErrorInfo, Observation

_PROGRAMS = ("candidate", "test", "solution")
"""Roles of cells whose code was run."""
_LARGE = re.compile(r"^- Large: .*$", re.MULTILINE)
"""What is said of outputs that stand in cells alone: it counts fewer when one of these was edited."""


def edited_cells(notebook: NotebookNode, records: Sequence[Record]) -> dict[str, str]:
    """What is different about cells of the run, by candidate (`2.3`, `s1-t2`) or role (`summary`); empty: nothing."""
    run_id = next((record.event.run_id for record in records if isinstance(record.event, RunStarted)), "")
    there = {_key(cell): _like_records(cell) for cell in notebook.cells if ours(cell, run_id)}
    made = {_key(cell): cell for cell in render(records).cells}
    told = _told_alike(notebook)
    found = {key: _difference(cell, there.get(key), told=told) for key, cell in made.items()}
    return {key: why for key, why in found.items() if why}


def _key(cell: Mapping[str, JsonValue]) -> str:
    mark = ours(cell) or {}
    candidate, input_ = str(mark.get("candidate", "")), mark.get("input")
    if mark.get("role") in _PROGRAMS:
        return f"{candidate}-{input_}" if input_ else candidate
    return " ".join(map(str, filter(None, (mark.get("role"), mark.get("subtask"), candidate))))


def _like_records(cell: NotebookNode) -> NotebookNode:
    """The cell with what is never recorded taken out as it is of records: traces of before show whole paths."""
    clean = Redactor(homes=Homes())
    outputs = _clean(cell.get("outputs", []), clean)
    liked: NotebookNode = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {**cell, "source": clean.text(joined(cell.source)), "outputs": outputs}
    )
    return liked


def _clean(value: JsonValue, clean: Redactor) -> JsonValue:
    if isinstance(value, dict):
        return {key: _clean(item, clean) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, clean) for item in value]
    return clean.text(value) if isinstance(value, str) else value


def _told_alike(notebook: NotebookNode) -> bool:
    """Whether this very version has put the words, as far as can be known."""
    facts = notebook.metadata.get(NAMESPACE, {})
    return (facts.get("schema_version"), facts.get("package_version")) == (SCHEMA_VERSION, __version__)


def _difference(made: NotebookNode, there: NotebookNode | None, *, told: bool) -> str:
    if there is None:
        return "its cell was removed"
    role = made.metadata[NAMESPACE]["role"]
    if role == "setup":
        return ""  # it runs with the notebook, and fails where this package is not installed
    if role not in _PROGRAMS:
        return "" if _same_words(made, there, told=told) else "its text was edited"
    if joined(there.source).rstrip() != made.source.rstrip():
        return "its code was edited"
    return _outputs(made, there, run_again=role == "solution")


def _same_words(made: NotebookNode, there: NotebookNode, *, told: bool) -> bool:
    source = joined(there.source)
    if _LARGE.sub("", source) == _LARGE.sub("", made.source):
        return True
    return not told and source_hash(source) == there.metadata[NAMESPACE].get("source_hash")


def _outputs(made: NotebookNode, there: NotebookNode, *, run_again: bool) -> str:
    """How outputs differ; those of the solution may have come of running the notebook, so that moments may differ."""
    if _plain(made.outputs) == _plain(there.outputs):
        return ""
    if made.outputs and not there.outputs:
        return "its outputs were cleared"
    why = difference(_seen(made), _seen(there))
    if run_again and not why:
        return ""
    return f"its outputs were edited{f': {why}' if why else ''}"


def _seen(cell: NotebookNode) -> Seen:
    failed = next((one for one in cell.outputs if one.output_type == "error"), None)
    error = ErrorInfo(failed.ename, failed.evalue) if failed else None
    return seen(Observation("ok", tuple(cell.outputs), error), day=date.today())


def _plain(outputs: Iterable[NotebookNode]) -> list[JsonValue]:
    """Outputs without what saving changes: texts in lines, counts of executions, streams in pieces."""
    plain: list[JsonValue] = []
    stream: dict[str, JsonValue] = {}
    for output in outputs:
        if output.output_type == "stream" and output.name == stream.get("name"):
            stream["text"] = f"{stream['text']}{joined(output.text)}"
            continue
        one: dict[str, JsonValue] = json.loads(json.dumps(output))
        one.pop("execution_count", None)
        one.pop("metadata", None)
        if isinstance(data := one.get("data"), dict):
            one["data"] = {mime: value if isinstance(value, dict) else joined(value) for mime, value in data.items()}
        if output.output_type == "stream":
            one["text"] = joined(output.text)
        stream = one if output.output_type == "stream" else {}
        plain.append(one)
    return plain
