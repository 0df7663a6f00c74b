"""Detects edited cells of a trace, and reduces it to what was carried forward."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from datetime import date
from difflib import SequenceMatcher
from typing import Final

import nbformat
from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record, RunStarted
from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.text.characters import with_formulas
from exploracoder_jupyter.trace.cells import source_hash
from exploracoder_jupyter.trace.comparison import (
    ComparableResult,
    Text,
    comparable_result,
    describe_difference,
    describe_part_difference,
    join_lines,
    map_strings,
)
from exploracoder_jupyter.trace.file import render
from exploracoder_jupyter.trace.markup_sanitizer import safe_markdown
from exploracoder_jupyter.trace.metadata import NAMESPACE, generated_metadata
from exploracoder_jupyter.trace.output_sanitizer import without_notes
from exploracoder_jupyter.trace.redaction import Homes, Redactor
from exploracoder_jupyter.trace.storage import run_metadata

# Detects cells of a trace that were edited, by comparing them with the cells rendered from its records.
#
# Compared are code, outputs, cell metadata and the order of cells. Markdown that differs from what this version
# renders is not reported as edited if it still matches the cell's hash: an earlier version may have written it that
# way. Cells that a person has added are ignored, unless they claim to belong to a run.

_PROGRAMS: Final = ("candidate", "test", "solution")
"""Roles of cells whose code was run."""
_NOT_COMPARED: Final = ("schema_version", "source_hash")
"""Metadata of a cell that differs between versions of the format or follows from the source."""
_NOT_ABOUT_THE_RUN: Final = ("schema_version", "package_version", "records", "trimmed")
"""Metadata of a notebook that is not compared itself."""

_Place = tuple[bool, str]
"""Identifies a cell within its run: whether it is the solution (which may also be a candidate), and its name."""
_Cells = Mapping[_Place, Sequence[NotebookNode]]


def find_edited_cells(notebook: NotebookNode, records: Sequence[Record]) -> dict[str, str]:
    """Describe what was edited in the notebook; empty if nothing was.

    Returns:
        A description by candidate (`2.3`, `s1-t2`) or role (`summary`); by `notebook` for the notebook's metadata.
    """
    rendered = render(records, pack=False)
    run_id = next((record.event.run_id for record in records if isinstance(record.event, RunStarted)), "")
    expected = _by_place(rendered.cells)
    actual = _by_place(cell for cell in notebook.cells if generated_metadata(cell, run_id))
    found = [*_changed_cells(expected, actual), *_moved_cells(list(expected), list(actual))]
    before, now = run_metadata(rendered), run_metadata(notebook)
    for name in [name for name in before if name in now and name not in _NOT_ABOUT_THE_RUN]:
        if not _agree(before[name], map_strings(now[name], _redactor().text)):
            found.append(("notebook", f"its metadata about the run was edited: {name}"))
            break
    return dict(reversed(found))  # keeps the first finding for each cell


def edited_cell_names(notebook: NotebookNode) -> tuple[str, ...]:
    """Return the names of generated cells in any notebook whose source no longer matches its hash."""
    return tuple(_name(cell) for cell in notebook.cells if generated_metadata(cell) and not _matches_hash(cell))


def _matches_hash(cell: NotebookNode) -> bool:
    return source_hash(join_lines(cell.source)) == (generated_metadata(cell) or {}).get("source_hash")


def _by_place(cells: Iterable[NotebookNode]) -> dict[_Place, list[NotebookNode]]:
    """Group cells by their place; a place has several cells if one was copied."""
    places: dict[_Place, list[NotebookNode]] = {}
    for cell in cells:
        is_solution = (generated_metadata(cell) or {}).get("role") == "solution"
        places.setdefault((is_solution, _name(cell)), []).append(cell)
    return places


def _changed_cells(expected: _Cells, actual: _Cells) -> Iterator[tuple[str, str]]:
    for place, [cell, *_] in expected.items():
        if place not in actual:
            yield place[1], "its cell was removed"
        for one in actual.get(place, ()):
            if why := _describe_edit(cell, _redact_cell(one), as_written=_matches_hash(one)):
                yield place[1], why
    yield from ((name, "the run has no such cell") for solution, name in actual if (solution, name) not in expected)


def _moved_cells(expected: Sequence[_Place], actual: Sequence[_Place]) -> Iterator[tuple[str, str]]:
    """Yield the cells that were moved relative to the others."""
    common = set(expected) & set(actual)
    old, new = ([place for place in places if place in common] for places in (expected, actual))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    unmoved = {place for block in blocks for place in old[block.a : block.a + block.size]}
    yield from ((place[1], "its cell was moved") for place in old if place not in unmoved)


def _agree(expected: JsonValue, actual: JsonValue) -> bool:
    """Whether both are equal in all keys that both have: versions may write more or fewer keys."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(_agree(expected[key], actual[key]) for key in expected.keys() & actual.keys())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_agree, expected, actual))
    return expected == actual


def _name(cell: Mapping[str, JsonValue]) -> str:
    mark = generated_metadata(cell) or {}
    candidate, input_ = str(mark.get("candidate", "")), mark.get("input")
    if mark.get("role") in _PROGRAMS:
        return f"{candidate}-{input_}" if input_ else candidate
    return " ".join(map(str, filter(None, (mark.get("role"), mark.get("subtask"), candidate))))


def _redact_cell(cell: NotebookNode) -> NotebookNode:
    """Redact a cell as records are redacted, because traces of earlier versions contain full paths."""
    redactor = _redactor()
    outputs = map_strings(cell.get("outputs", []), redactor.text)
    redacted: NotebookNode = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {**cell, "source": redactor.text(join_lines(cell.source)), "outputs": outputs}
    )
    return redacted


def _redactor() -> Redactor:
    return Redactor(homes=Homes())


def _describe_edit(expected: NotebookNode, actual: NotebookNode, *, as_written: bool) -> str:
    role = expected.metadata[NAMESPACE]["role"]
    if actual.cell_type != expected.cell_type:
        return "it is a cell of another type"
    source = join_lines(actual.source)
    if role not in (*_PROGRAMS, "setup"):
        if as_written or source == expected.source:
            return _describe_metadata_edit(expected, actual)
        why = describe_part_difference(Text(expected.source), Text(source), 0)
        return f"its text was edited{f': {why}' if why else ''}"
    if source.rstrip() != expected.source.rstrip():
        return "its code was edited"
    if role == "setup":
        return ""  # it runs with the notebook, and fails if this package is not installed
    outputs = _describe_output_edit(expected, actual, run_again=role == "solution")
    return outputs or _describe_metadata_edit(expected, actual)


def _describe_metadata_edit(expected: NotebookNode, actual: NotebookNode) -> str:
    before, now = expected.metadata[NAMESPACE], actual.metadata[NAMESPACE]
    names = (name for name in before if name in now and name not in _NOT_COMPARED)
    different = next((name for name in names if before[name] != now[name]), "")
    return f"its metadata was edited: {different}" if different else ""


def _describe_output_edit(expected: NotebookNode, actual: NotebookNode, *, run_again: bool) -> str:
    """Describe how outputs differ. Those of the solution may come from running the notebook, so times may differ."""
    if _normalize_outputs(expected.outputs) == _normalize_outputs(actual.outputs):
        return ""
    if expected.outputs and not actual.outputs:
        return "its outputs were cleared"
    why = describe_difference(_comparable_cell(expected), _comparable_cell(actual))
    if run_again and not why:
        return ""
    return f"its outputs were edited{f': {why}' if why else ''}"


def _comparable_cell(cell: NotebookNode) -> ComparableResult:
    failed = next((one for one in cell.outputs if one.output_type == "error"), None)
    error = ErrorInfo(failed.ename, failed.evalue) if failed else None
    return comparable_result(Observation("ok", tuple(cell.outputs), error), day=date.today())


def _normalize_outputs(outputs: Iterable[NotebookNode]) -> list[JsonValue]:
    """Normalize outputs: join lines and stream fragments, and drop execution counts, all of which saving changes."""
    plain: list[JsonValue] = []
    stream: dict[str, JsonValue] = {}
    for output in outputs:
        if output.output_type == "stream" and output.name == stream.get("name"):
            stream["text"] = f"{stream['text']}{join_lines(output.text)}"
            continue
        one: dict[str, JsonValue] = json.loads(json.dumps(output))
        one.pop("execution_count", None)
        one.pop("metadata", None)
        if isinstance(data := one.get("data"), dict):
            one["data"] = _normalize_bundle(
                {mime: value if isinstance(value, dict) else join_lines(value) for mime, value in data.items()}
            )
        if output.output_type == "stream":
            one["text"] = join_lines(output.text)
        stream = one if output.output_type == "stream" else {}
        plain.append(one)
    return plain


def _normalize_bundle(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Undo what this version writes otherwise than earlier ones: Markdown, formulas, and notes on what is left out."""
    shown = dict(data)
    markdown = shown.pop("text/markdown", None)
    if isinstance(markdown, str):
        shown.setdefault("text/html", safe_markdown(markdown.replace("&lt;", "<").replace("&#33;[", "![")))
    for mime, undo in (("text/html", with_formulas), ("text/plain", without_notes)):
        if isinstance(text := shown.get(mime), str):
            shown[mime] = undo(text)
    return {mime: value for mime, value in shown.items() if value}


# Reduces a trace to the candidates that were carried forward.
#
# Cells are identified by their metadata, and a new notebook is returned. A generated cell that a person has edited
# belongs to that person: it stays, as an ordinary cell.

_CANDIDATE_ROLES = ("candidate", "test", "judgement")
"""Roles of cells about one candidate."""


def without_unselected(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with only the selected candidates (expanded), the solution and the summary.

    The run's records in the metadata of a trace are removed as well.
    """

    def stays(cell: NotebookNode) -> bool:
        found = generated_metadata(cell)
        return not found or found["role"] not in _CANDIDATE_ROLES or bool(found.get("selected")) or _is_edited(cell)

    reduced = copy(notebook)
    reduced.cells = [cell for cell in notebook.cells if stays(cell)]
    reduced = deepcopy(reduced)
    for cell in reduced.cells:
        found = generated_metadata(cell)
        if found and found["role"] in _CANDIDATE_ROLES:
            for mark in ("jupyter", "collapsed"):
                cell.metadata.pop(mark, None)
    if NAMESPACE in reduced.metadata:
        for name in ("records", "trimmed"):
            reduced.metadata[NAMESPACE].pop(name, None)
    return reduced


def is_untouched(notebook: NotebookNode) -> bool:
    """Whether the notebook has cells, and all of them are generated and unedited."""
    return bool(notebook.cells) and all(generated_metadata(cell) and not _is_edited(cell) for cell in notebook.cells)


def _is_edited(cell: NotebookNode) -> bool:
    return bool(source_hash(cell.source) != cell.metadata[NAMESPACE].get("source_hash"))
