"""Which cells of a trace are not as the run made them: what is shown has to be what the records tell.

Code and outputs of tried programs are compared with the notebook that the records make, and so are what cells say of
themselves in their metadata and the order in which they stand. Words that are put otherwise today are told from edited
ones by their hash: the package may have put them so when it wrote the trace. Cells that a person has added are passed
over, but not those that claim to be of a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from difflib import SequenceMatcher
from typing import Final

import nbformat
from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record, RunStarted
from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.trace.cell_metadata import NAMESPACE, ours
from exploracoder_jupyter.trace.cells.cell_layout import source_hash
from exploracoder_jupyter.trace.comparing.output_comparison import Seen, difference, seen
from exploracoder_jupyter.trace.comparing.output_parts import Text, changed, joined
from exploracoder_jupyter.trace.sanitizing.path_redaction import Homes
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor
from exploracoder_jupyter.trace.stored_records import facts_of
from exploracoder_jupyter.trace.trace_file import render

_PROGRAMS: Final = ("candidate", "test", "solution")
"""Roles of cells whose code was run."""
_LARGE: Final = re.compile(r"^- Large: .*$", re.MULTILINE)
"""What is said of outputs that stand in cells alone: it counts fewer when one of these was edited."""
_OF_THE_FORM: Final = ("schema_version", "source_hash")
"""What cells say of themselves that differs between versions of the form, or is known by what it is made of."""
_FACTS: Final = (
    "run_id",
    "started",
    "task",
    "settings",
    "model",
    "environment",
    "libraries",
    "usage",
    "verdict",
    "files",
)
"""What a notebook says of its run beside the records."""

_Place = tuple[bool, str]
"""What a cell is in its run: its name, and whether it is the solution, which may be a candidate as well."""
_Cells = Mapping[_Place, Sequence[NotebookNode]]


def edited_cells(notebook: NotebookNode, records: Sequence[Record]) -> dict[str, str]:
    """What is different about the notebook, by candidate (`2.3`, `s1-t2`), role (`summary`), or `notebook` for what it
    says of the run as a whole; empty: nothing."""
    rendered = render(records)
    run_id = next((record.event.run_id for record in records if isinstance(record.event, RunStarted)), "")
    made, there = _by_place(rendered.cells), _by_place(cell for cell in notebook.cells if ours(cell, run_id))
    found = [*_differing(made, there), *_out_of_place(list(made), list(there))]
    if fact := _other_fact(facts_of(rendered), facts_of(notebook)):
        found.append(("notebook", f"what it says of the run was edited: {fact}"))
    return dict(reversed(found))  # the first thing that is said of a cell counts


def edited_since(notebook: NotebookNode) -> tuple[str, ...]:
    """The names of cells of runs, in whatever notebook, whose text is not what was written there."""
    return tuple(_name(cell) for cell in notebook.cells if ours(cell) and not _as_written(cell))


def _as_written(cell: NotebookNode) -> bool:
    """Whether its text is the one that it was given, as far as its hash tells."""
    return source_hash(joined(cell.source)) == (ours(cell) or {}).get("source_hash")


def _by_place(cells: Iterable[NotebookNode]) -> dict[_Place, list[NotebookNode]]:
    """More than one at a place where a cell was copied."""
    places: dict[_Place, list[NotebookNode]] = {}
    for cell in cells:
        places.setdefault(_place(cell), []).append(cell)
    return places


def _differing(made: _Cells, there: _Cells) -> Iterator[tuple[str, str]]:
    for place, [cell, *_] in made.items():
        if place not in there:
            yield place[1], "its cell was removed"
        for one in there.get(place, ()):
            if why := _difference(cell, _like_records(one), as_written=_as_written(one)):
                yield place[1], why
    yield from ((name, "the run has no such cell") for solution, name in there if (solution, name) not in made)


def _out_of_place(made: Sequence[_Place], there: Sequence[_Place]) -> Iterator[tuple[str, str]]:
    """The cells that do not stand where they stood among the others."""
    common = set(made) & set(there)
    wanted, now = ([place for place in places if place in common] for places in (made, there))
    blocks = SequenceMatcher(None, wanted, now, autojunk=False).get_matching_blocks()
    kept = {place for block in blocks for place in wanted[block.a : block.a + block.size]}
    yield from ((place[1], "its cell was moved") for place in wanted if place not in kept)


def _other_fact(made: Mapping[str, JsonValue], there: Mapping[str, JsonValue]) -> str:
    clean = Redactor(homes=Homes())
    named = (name for name in _FACTS if name in made and name in there)
    return next((name for name in named if not _agree(made[name], changed(there[name], clean.text))), "")


def _agree(made: JsonValue, there: JsonValue) -> bool:
    """Whether both say the same wherever both say something: a version may know more than another one."""
    if isinstance(made, dict) and isinstance(there, dict):
        return all(_agree(made[key], there[key]) for key in made.keys() & there.keys())
    if isinstance(made, list) and isinstance(there, list):
        return len(made) == len(there) and all(map(_agree, made, there))
    return made == there


def _place(cell: Mapping[str, JsonValue]) -> _Place:
    return (ours(cell) or {}).get("role") == "solution", _name(cell)


def _name(cell: Mapping[str, JsonValue]) -> str:
    mark = ours(cell) or {}
    candidate, input_ = str(mark.get("candidate", "")), mark.get("input")
    if mark.get("role") in _PROGRAMS:
        return f"{candidate}-{input_}" if input_ else candidate
    return " ".join(map(str, filter(None, (mark.get("role"), mark.get("subtask"), candidate))))


def _like_records(cell: NotebookNode) -> NotebookNode:
    """The cell with what is never recorded taken out as it is of records: traces of before show whole paths."""
    clean = Redactor(homes=Homes())
    outputs = changed(cell.get("outputs", []), clean.text)
    liked: NotebookNode = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {**cell, "source": clean.text(joined(cell.source)), "outputs": outputs}
    )
    return liked


def _difference(made: NotebookNode, there: NotebookNode, *, as_written: bool) -> str:
    role = made.metadata[NAMESPACE]["role"]
    if there.cell_type != made.cell_type:
        return "it is a cell of another kind"
    if role not in (*_PROGRAMS, "setup"):
        same = as_written or _same_words(made, there)
        return _of_itself(made, there) if same else _other_words(made, there)
    if joined(there.source).rstrip() != made.source.rstrip():
        return "its code was edited"
    if role == "setup":
        return ""  # it runs with the notebook, and fails where this package is not installed
    return _outputs(made, there, run_again=role == "solution") or _of_itself(made, there)


def _of_itself(made: NotebookNode, there: NotebookNode) -> str:
    """What a cell says of itself in another way; of versions that say more or less, what both say."""
    said, now = made.metadata[NAMESPACE], there.metadata[NAMESPACE]
    names = (name for name in said if name in now and name not in _OF_THE_FORM)
    other = next((name for name in names if said[name] != now[name]), "")
    return f"its metadata was edited: {other}" if other else ""


def _same_words(made: NotebookNode, there: NotebookNode) -> bool:
    return _LARGE.sub("", joined(there.source)) == _LARGE.sub("", made.source)


def _other_words(made: NotebookNode, there: NotebookNode) -> str:
    """The first line that differs."""
    why = Text(made.source).unlike(Text(joined(there.source)), 0)
    return f"its text was edited{f': {why}' if why else ''}"


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
