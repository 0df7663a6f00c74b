"""Writes the trace: a run as a notebook, kept up to date on disk during the run."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import nbformat
from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines
from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateSelected,
    PlanMade,
    Record,
    RunFinished,
    RunStarted,
    Steered,
    SubtaskFinished,
)
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.run_state import RunState, fold, fold_all
from exploracoder_jupyter.core.types import Environment, LibraryInfo, Task, Usage, Verdict
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace.cells import Layout, SanitizedOutputs, Show, append_item
from exploracoder_jupyter.trace.metadata import NAMESPACE, SCHEMA_VERSION, Cell, generated_metadata
from exploracoder_jupyter.trace.paths import journal_path, rename_existing_trace, spare_journal_path
from exploracoder_jupyter.trace.redaction import Homes, Redactor, local_homes, map_record
from exploracoder_jupyter.trace.storage import (
    Journal,
    PackedRecords,
    SizeBudget,
    count_omitted,
    newer_version_message,
    read,
    read_records,
    run_metadata,
    version_of,
    without_prompts,
)

# Renders a run as one notebook: its cells, and in the metadata everything needed to run it again.
#
# The file is formatted exactly as Jupyter formats notebooks, with sorted keys and one item per line. So the same
# records always produce the same bytes, opening and saving the file in Jupyter changes nothing, and diffs are
# readable.

_LANGUAGE_INFO: Final[dict[str, JsonValue]] = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
"""The `language_info` that kernels report and front ends write into notebooks."""
_MAX_EXACT_INTEGER: Final = 2**53
"""Integers up to this size are exact as floats."""


def build_notebook(
    run: RunState,
    records: PackedRecords | None = None,
    *,
    omitted: tuple[int, int] = (0, 0),
    outputs: SanitizedOutputs | None = None,
) -> NotebookNode:
    """Build the notebook of a run. Without `records` the run cannot be restored from it.

    Args:
        run: the state after the records.
        records: all of its records.
        omitted: how many outputs were left out of the records to limit the size, and their total size in characters.
        outputs: those sanitized for earlier notebooks of this run.
    """
    wanted = _view_settings(run).get("show")  # the records in the metadata are always complete
    show: Show = "selected" if wanted == "selected" else "none" if wanted == "none" else "all"
    cells = Layout(show=show, outputs=outputs).cells(run)
    metadata: dict[str, JsonValue] = {"language_info": {"name": "python"}}
    if run.started:
        environment = run.started.environment
        display = "Python 3 (ipykernel)" if environment.kernel == "python3" else environment.kernel
        metadata["kernelspec"] = {"name": environment.kernel, "display_name": display, "language": "python"}
        metadata["language_info"] = {**_LANGUAGE_INFO, "version": environment.python}
        facts = _run_metadata(run, run.started)
        count, size = omitted
        if count:
            facts["trimmed"] = {"outputs": count, "bytes": size}
            line = f"Large: {plural(count, 'output')} ({size / 1e6:.1f} MB) left out to limit the size"
            cells = [append_item(cell, line) if _is_summary(cell) else cell for cell in cells]
        if records:
            facts["records"] = records.text()
        metadata[NAMESPACE] = facts
    notebook: NotebookNode = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [*cells]}
    )
    return notebook


def _is_summary(cell: Cell) -> bool:
    return (generated_metadata(cell) or {}).get("role") == "summary"


def serialize_notebook(notebook: NotebookNode) -> bytes:
    """Serialize the notebook to exactly the bytes that Jupyter writes when it saves it."""
    lines = _floats_to_integers(split_lines(notebook))  # type: ignore[no-untyped-call]
    return f"{json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True)}\n".encode()


def _floats_to_integers(value: Any) -> Any:
    """Convert whole floats to integers (`60.0` to `60`), because JavaScript does not distinguish them."""
    if isinstance(value, dict):
        return {key: _floats_to_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats_to_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT_INTEGER else value


def stores_prompts(run: RunState) -> bool:
    """Whether the run's settings allow the model's prompts to be stored in the trace."""
    return _view_settings(run).get("prompts") is not False


def _view_settings(run: RunState) -> dict[str, JsonValue]:
    view = run.started.settings.get("view") if run.started else None
    return view if isinstance(view, dict) else {}


def _run_metadata(run: RunState, started: RunStarted) -> dict[str, JsonValue]:
    """Return what is needed to run the task again, readable without folding the records."""
    facts: dict[str, JsonValue] = {
        "schema_version": SCHEMA_VERSION,
        "package_version": started.version,
        "run_id": started.run_id,
        "started": datetime.fromtimestamp(run.started_at, UTC).isoformat(timespec="seconds"),
        "task": _to_json(started.task),
        "settings": started.settings,
        "model": started.model,
        "environment": _to_json(started.environment),
        "usage": _to_json(run.usage),
    }
    if started.resumes:
        facts["resumes"] = started.resumes
    if run.finished:
        facts["verdict"] = _to_json(run.finished.verdict)
    if run.library:
        facts["libraries"] = [_to_json(info) for info in run.library.libraries]
    if run.files:
        facts["files"] = {"folder": run.files.folder, "names": [*run.files.files]}
    return facts


def _to_json(value: Task | Environment | Usage | Verdict | LibraryInfo) -> dict[str, JsonValue]:
    return {key: json.loads(json.dumps(item)) for key, item in asdict(value).items() if item is not None}


# Writes the trace: a run as a notebook, kept up to date on disk during the run.
#
# Each record is appended to the journal at once. At the end of each step, at most once a second, the notebook is
# rendered from all records and replaces the file atomically, so that a complete notebook exists at any moment, even
# on a full disk. Its metadata contains every record, so the notebook alone is enough to restore the run: of a
# growing run only the last records are packed again. The journal is removed when the final notebook has been
# written and reads back complete. If the disk is full, a spare journal named by the run id is kept in the user's
# state folder; `load` reads it too.

_ENDS_OF_STEPS = (RunStarted, PlanMade, Steered, CandidateSelected, SubtaskFinished, RunFinished)


class Trace:
    """Writes a run's trace as its records arrive. Write errors never interrupt the run; see `problem`.

    Args:
        path: the notebook, checked by `paths.prepare_path`.
        interval: minimum seconds between two writes of the notebook; large notebooks are written less often.
        room: limits the size of the outputs.
    """

    def __init__(self, path: Path, *, interval: float = 1.0, room: SizeBudget | None = None) -> None:
        self.path = path
        self._homes = local_homes()
        self._room = room or SizeBudget()
        self._interval = interval
        self._records: list[Record] = []
        self._packed = PackedRecords()
        self._run = RunState()
        self._outputs = SanitizedOutputs()
        self._due = False
        self._next_write = float("-inf")
        self._saved_count = 0
        self._complete = False
        self._problem: str | None = None
        self.renamed_trace = rename_existing_trace(path)
        """New path of the trace that was at this path before, if any."""
        self._journal = Journal(journal_path(path))
        self._spare: Journal | None = None

    @property
    def problem(self) -> str | None:
        """Why the trace on disk is not complete, if it is not."""
        problem = None if self._complete else self._problem or self._journal.problem
        if problem and self._spare and not self._spare.problem:
            return f"{problem} The missing records are in {self._spare.path}."
        return problem

    @property
    def records(self) -> Sequence[Record]:
        """The records appended so far, as they are written."""
        return tuple(self._records)

    def append(self, record: Record) -> None:
        """Append a record, which has no secrets, to the journal at once, and to the notebook at the end of the step.

        Secrets are redacted where the record is made, because listeners receive it too; home folders are redacted here.
        """
        record = record if stores_prompts(self._run) else without_prompts(record)
        record = self._room.fit(map_record(record, lambda text: self._homes.redact(encodable(text))))
        self._records.append(record)
        self._append_to_journal(record)
        self._packed.append(record)
        self._run = fold(self._run, record)
        self._due = self._due or isinstance(record.event, _ENDS_OF_STEPS)
        if self._due and (isinstance(record.event, RunFinished) or time.monotonic() >= self._next_write):
            self._write()

    def close(self) -> None:
        """Write the notebook a last time; remove the journal if the notebook reads back complete. Idempotent.

        If the disk has no room for the full notebook, it is written without the records, provided the journal has them.
        """
        if self._saved_count < len(self._records):
            self._write()
            if self._problem and self._journal.written >= self._saved_count:
                self._try_writing(self._build(None))
        journals = [journal for journal in (self._journal, self._spare) if journal]
        for journal in journals:
            journal.close()
        self._complete = not self._problem and self._reads_back()
        if self._complete:
            for journal in journals:
                journal.remove()
        elif not self._problem:
            self._problem = f"The trace {self.path} does not match what was written, so its journal is kept."

    def _append_to_journal(self, record: Record) -> None:
        """Append a record to the journal. Once that fails, also write all records to a spare journal."""
        self._journal.append(record)
        if self._spare:
            self._spare.append(record)
        elif self._journal.problem and (path := spare_journal_path(_run_id_of(self._records))):
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
            self._spare = Journal(path)
            for earlier in self._records:
                self._spare.append(earlier)

    def _reads_back(self) -> bool:
        try:
            return not self._records or read_records(_read_notebook(self.path)) == self._records
        except UsageError:
            return False

    def _build(self, packed: PackedRecords | None) -> NotebookNode:
        return build_notebook(self._run, packed, omitted=count_omitted(self._records), outputs=self._outputs)

    def _write(self) -> None:
        start = time.monotonic()
        self._problem = self._try_writing(self._build(self._packed))
        self._due, now = False, time.monotonic()
        self._saved_count = self._saved_count if self._problem else len(self._records)
        # a large trace is written less often, so that writing takes only a small part of the run
        self._next_write = now + max(self._interval, 10 * (now - start))

    def _try_writing(self, notebook: NotebookNode) -> str | None:
        try:
            write_atomic(self.path, serialize_notebook(notebook))
        except OSError as error:
            return f"The trace {self.path} could not be written: {error.strerror or error}."
        return None


def render(records: Iterable[Record], *, pack: bool = True) -> NotebookNode:
    """Render the trace notebook of these records, finished or not, as valid nbformat.

    Secrets and home folders are redacted by their patterns. Unless `pack`, its metadata does not contain the records,
    which saves the time of compressing them.
    """
    redactor = Redactor(homes=Homes())
    redacted = [redactor.record(record) for record in records]
    packed = PackedRecords(redacted) if pack else None
    return build_notebook(fold_all(redacted), packed, omitted=count_omitted(redacted))


def load(path: Path | str) -> list[Record]:
    """Load the records of a trace from the notebook, and from its journals if they have more.

    Args:
        path: the notebook (which may be missing or damaged if its journal exists), or a journal.

    Raises:
        UsageError: neither contains a run, or the notebook's records are damaged and there is no journal.
    """
    path = Path(path)
    journal = path if path.suffix == ".jsonl" else journal_path(path)
    notebook, saved, damage = _read_notebook(path), list[Record](), None
    try:
        saved = read_records(notebook)
    except UsageError as error:
        damage = error
    records = _merge_records(saved, _read_journal(journal))
    if spare := spare_journal_path(_run_id_of(records)):
        records = _merge_records(records, _read_journal(spare))
    if records:
        return records
    if sentence := newer_version_message(version_of(run_metadata(notebook))):
        raise UsageError(f"{str(path)!r} cannot be read. {sentence}", remedy="Update exploracoder_jupyter.")
    if damage:
        raise UsageError(f"{str(path)!r} cannot be read. {damage.message}", remedy=damage.remedy)
    raise UsageError(f"{str(path)!r} is not the trace of a run.", remedy="Name a notebook that an exploration wrote.")


def _merge_records(saved: list[Record], journaled: list[Record]) -> list[Record]:
    """Merge the records of a notebook and of the journal beside it.

    A journal of another run belongs to a later run that was cut off before it wrote a notebook, so it wins. If records
    are missing from both, the end of the run is dropped too, so that the run can be resumed.
    """
    if _run_id_of(saved) != _run_id_of(journaled) and _run_id_of(journaled):
        return journaled
    saved_numbers = {record.seq for record in saved}
    more = [record for record in journaled if record.seq not in saved_numbers]
    if not more:
        return saved
    records = sorted([*saved, *more], key=lambda record: record.seq)
    complete = all(after.seq - before.seq <= 1 for before, after in pairwise(records))
    return [record for record in records if complete or not isinstance(record.event, RunFinished)]


def _run_id_of(records: Iterable[Record]) -> str:
    return next((record.event.run_id for record in records if isinstance(record.event, RunStarted)), "")


def _read_journal(journal: Path) -> list[Record]:
    try:
        return read(journal)
    except OSError:
        return []


def _read_notebook(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
