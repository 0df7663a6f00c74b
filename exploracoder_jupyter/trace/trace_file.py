"""The trace: a run as a notebook, kept complete on disk while the run goes on.

Each record goes to the journal at once; at the end of steps, at most once a second, the notebook is rendered from all
of them and replaces the file in one move, so that there is a whole notebook at any moment, also on a full disk. The
notebook's metadata holds every record, so the notebook alone tells the run again. When the last version is written
and reads back complete, the journal has done its work and goes. Where there is no room for it, a spare one is kept in
the user's state folder, by the id of the run, and read with the trace.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from nbformat import NotebookNode

from exploracoder_jupyter.core.atomic_write import put
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
from exploracoder_jupyter.trace.journal import Journal, read
from exploracoder_jupyter.trace.migration import too_new, version_of
from exploracoder_jupyter.trace.run_state import Run, fold, fold_all
from exploracoder_jupyter.trace.sanitizing.path_redaction import Homes, own_homes
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor
from exploracoder_jupyter.trace.size_limit import Room
from exploracoder_jupyter.trace.stored_records import facts_of, restored, without_prompts
from exploracoder_jupyter.trace.trace_document import content, document, keeps_prompts
from exploracoder_jupyter.trace.trace_paths import journal_path, set_aside, spare_path

_ENDS_OF_STEPS = (RunStarted, PlanMade, Steered, CandidateSelected, SubtaskFinished, RunFinished)


class Trace:
    """Writes a run's trace while its records come in. Nothing here raises into the run; see `problem`.

    Args:
        path: the notebook, checked by `trace_paths.prepare`.
        secrets: strings that must not be written.
        interval: least seconds between two writings of the notebook; large ones take longer, and wait longer.
        room: what it may hold of what was shown.
    """

    def __init__(
        self, path: Path, *, secrets: Iterable[str] = (), interval: float = 1.0, room: Room | None = None
    ) -> None:
        self.path = path
        self._redactor = Redactor(secrets, homes=own_homes())
        self._room = room or Room()
        self._interval = interval
        self._records: list[Record] = []
        self._run = Run()
        self._due = False
        self._next = float("-inf")
        self._saved = 0
        self._complete = False
        self._problem: str | None = None
        self.earlier = set_aside(path)
        """What was at this path before, by its new name."""
        self._journal = Journal(journal_path(path))
        self._spare: Journal | None = None

    @property
    def problem(self) -> str | None:
        """Why the trace on disk is not complete, if it is not."""
        problem = None if self._complete else self._problem or self._journal.problem
        if problem and self._spare and not self._spare.problem:
            return f"{problem} What it lacks is in {self._spare.path}."
        return problem

    @property
    def records(self) -> Sequence[Record]:
        """The records taken so far, without secrets."""
        return tuple(self._records)

    def append(self, record: Record) -> None:
        """Take one record: into the journal at once, into the notebook at the end of the step."""
        record = self._redactor.record(record if keeps_prompts(self._run) else without_prompts(record))
        record = self._room.fit(record)
        self._records.append(record)
        self._note(record)
        self._run = fold(self._run, record)
        self._due = self._due or isinstance(record.event, _ENDS_OF_STEPS)
        if self._due and (isinstance(record.event, RunFinished) or time.monotonic() >= self._next):
            self._write()

    def close(self) -> None:
        """Write the notebook a last time; drop the journal if the notebook reads back complete. Idempotent.

        Where there is no room for the whole of it, the notebook goes without the records, if the journal holds them.
        """
        if self._saved < len(self._records):
            self._write()
            if self._problem and self._journal.whole >= self._saved:
                self._try_writing(document(self._run, ()))
        journals = [journal for journal in (self._journal, self._spare) if journal]
        for journal in journals:
            journal.close()
        self._complete = self._reads_back()
        if self._complete:
            for journal in journals:
                journal.remove()
        elif not self._problem:
            self._problem = f"The trace {self.path} does not read back as it was written; its journal is kept."

    def _note(self, record: Record) -> None:
        """Into the journal; into a spare one as well, with all before it, from the moment when that has no room."""
        self._journal.append(record)
        if self._spare:
            self._spare.append(record)
        elif self._journal.problem and (path := spare_path(_id_of(self._records))):
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
            self._spare = Journal(path)
            for known in self._records:
                self._spare.append(known)

    def _write(self) -> None:
        began = time.monotonic()
        self._problem = self._try_writing(document(self._run, self._records))
        self._due, now = False, time.monotonic()
        self._saved = self._saved if self._problem else len(self._records)
        # a large trace is written less often, so that writing stays a small part of the run
        self._next = now + max(self._interval, 10 * (now - began))

    def _try_writing(self, notebook: NotebookNode) -> str | None:
        try:
            put(self.path, content(notebook))
        except OSError as error:
            return f"The trace {self.path} could not be written: {error.strerror or error}."
        return None

    def _reads_back(self) -> bool:
        return not self._problem and (not self._records or restored(_read(self.path)) == self._records)


def render(records: Iterable[Record]) -> NotebookNode:
    """The trace notebook of these records: valid nbformat, complete or not. Secrets and homes are hidden by shape."""
    redactor = Redactor(homes=Homes())
    redacted = [redactor.record(record) for record in records]
    return document(fold_all(redacted), redacted)


def load(path: Path | str) -> list[Record]:
    """The records of a trace: from the notebook, and from its journals where they know more.

    Args:
        path: the notebook (it may be missing or torn, if its journal is there), or a journal.

    Raises:
        UsageError: neither holds a run.
    """
    path = Path(path)
    journal = path if path.suffix == ".jsonl" else journal_path(path)
    notebook = _read(path)
    records = _together(restored(notebook), _records_in(journal))
    if spare := spare_path(_id_of(records)):
        records = _together(records, _records_in(spare))
    if not records and (sentence := too_new(version_of(facts_of(notebook)))):
        raise UsageError(f"{str(path)!r} cannot be read. {sentence}", remedy="Update exploracoder_jupyter.")
    if not records:
        raise UsageError(
            f"{str(path)!r} is not the trace of a run.", remedy="Name a notebook that an exploration wrote."
        )
    return records


def _together(saved: list[Record], noted: list[Record]) -> list[Record]:
    """What a notebook and the journal beside it tell. A journal of another run is the later run's, which came no
    further than that. Where records are in neither, the run has not ended: it can be resumed."""
    if _id_of(saved) != _id_of(noted) and _id_of(noted):
        return noted
    known = {record.seq for record in saved}
    more = [record for record in noted if record.seq not in known]
    if not more:
        return saved
    records = sorted([*saved, *more], key=lambda record: record.seq)
    whole = all(after.seq - before.seq <= 1 for before, after in pairwise(records))
    return [record for record in records if whole or not isinstance(record.event, RunFinished)]


def _id_of(records: Iterable[Record]) -> str:
    return next((record.event.run_id for record in records if isinstance(record.event, RunStarted)), "")


def _records_in(journal: Path) -> list[Record]:
    try:
        return read(journal)
    except OSError:
        return []


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
