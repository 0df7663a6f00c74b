"""Finds the recorded run that a cell resumes or replays, and its task. The engine reads the rest of the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exploracoder_jupyter.core.configuration.sources import recorded_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.history import REPLAYED_SUFFIX, read_facts
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.core.validation import TypeAdapter, ValidationError
from exploracoder_jupyter.ipython_extension.running.credential_variables import find_credential_variables

if TYPE_CHECKING:
    from exploracoder_jupyter.core.configuration.sources import Layer
    from exploracoder_jupyter.ipython_extension.magic_line import Call

_MAX_BYTES = 300_000
"""Bytes of a trace to read: task and settings are at one end of a trace, and in one of the first lines of a journal."""
_JOURNAL = ".journal.jsonl"
_RECORDS = b'"records": "'
"""A field of the metadata. Inside a JSON string the quotes would be escaped."""
_WITH_SOLUTION = ("solved", "unchecked")
_TASK: TypeAdapter[Task] = TypeAdapter(Task)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded run, as far as a cell needs to know it."""

    trace: Path
    task: Task
    settings: dict[str, Any]
    run_id: str = ""
    resumes: str = ""
    """Id of the run that it resumes, if any."""
    outcome: str = ""
    """As in a verdict; empty if the run was cut off."""

    @property
    def stem(self) -> str:
        """The name of its trace without the suffix for the kind of file."""
        return self.trace.name.removesuffix(".ipynb").removesuffix(_JOURNAL)

    def settings_layer(self, *stronger: Layer) -> Layer:
        """Return its settings, without those that the stronger layers set."""
        return recorded_layer(self.settings, stronger)

    def has_trace(self, path: str | None) -> bool:
        """Whether this is the path of its trace."""
        with suppress(RuntimeError):  # the home folder of an unknown user
            return bool(path) and Path(path or "").expanduser().resolve() == self.trace
        return False

    def complete(self, call: Call, namespace: Mapping[str, object]) -> Call:
        """Return the call, with what it leaves open taken from the recorded run, whose variables must exist here."""
        task = self.task
        present = {name: namespace[name] for name in task.uses if name in namespace and name not in call.uses}
        guarded = find_credential_variables(present)  # the trace may come from anyone
        missing = ", ".join(name for name in task.uses if name not in namespace)
        if missing and not call.replay:
            problem = f"That run used variables that are not defined here: {missing}."
            raise UsageError(problem, remedy="Define them first.")
        if guarded and not call.replay:
            names = " ".join(guarded)
            raise UsageError(
                f"That run used variables that look like credentials here: {names}.", remedy=f"Add --use {names}."
            )
        used = [name for name in present if name not in guarded]
        return replace(
            call,
            libraries=call.libraries or task.libraries,
            uses=tuple(dict.fromkeys([*used, *call.uses])),
            check=task.check if call.check is None else call.check,
            solution_name=call.solution_name or task.solution_name,
            setup=call.setup or task.setup,
        )


def find_recorded_run(
    trace: str,
    task: str,
    folder: Path,
    *,
    other_traces: Iterable[Path] = (),
    check: str | None = None,
    any_outcome: bool = False,
) -> RecordedRun:
    """Find the run with this trace or, without a path, the newest one of this task.

    A run with this check is preferred to one with another check; then one that can be resumed and was not resumed yet,
    unless `any_outcome` will do. Traces are searched in the explorations of the folder; at `other_traces`, and beside
    them for runs that resumed those.
    """
    if trace:
        return _read_named(trace, task)
    paths = _newest_first([*_traces(folder / "explorations", "*"), *_traces_at(other_traces)])
    runs = [run for path in paths if (run := _read(path)) and _is_same(task, run.task.text)]
    resumed = {run.resumes for run in runs}

    def sort_key(run: RecordedRun) -> tuple[bool, bool]:
        ended = run.outcome in _WITH_SOLUTION or run.run_id in resumed
        return not _is_same(check or "", run.task.check or ""), ended and not any_outcome

    if best := min(runs, key=sort_key, default=None):
        return best
    raise UsageError(
        f"There is no trace of this task in {folder / 'explorations'}.",
        remedy="Name one with --resume TRACE, or start a new exploration.",
    )


def _is_same(text: str, recorded: str) -> bool:
    """Whether a trace contains this text, in which the home folder may have been redacted."""
    return recorded.strip() in (text.strip(), text.strip().replace(str(Path.home()), "~"))


def _read_named(trace: str, task: str) -> RecordedRun:
    try:
        path = Path(trace).expanduser()
        run, exists = _read(path), path.exists() or path.with_name(path.stem + _JOURNAL).exists()
    except (RuntimeError, ValueError, OSError):  # the home folder of an unknown user, or not a valid path
        run, exists = None, False
    if run is None:
        raise UsageError(
            f"{trace!r} is not the trace of a run." if exists else f"There is no file {trace!r}.",
            remedy="Name a notebook that an exploration wrote; libraries come before --resume.",
        )
    if task and not _is_same(task, run.task.text):
        raise UsageError(
            f"The task below differs from the task of the run in {run.trace.name}.",
            remedy="Leave it out to use the task in the trace, or start a new exploration.",
        )
    return run


def _traces_at(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        with suppress(RuntimeError):  # the home folder of an unknown user
            path = path.expanduser()
        stem = escape(path.name.removesuffix(".ipynb"))
        for pattern in (stem, f"{stem}.[0-9]*", f"{stem}-resumed*"):
            yield from _traces(path.parent, pattern)


def _traces(folder: Path, pattern: str) -> Iterable[Path]:
    """Return the traces that match, and the journals that have no trace yet; without the traces of replays."""
    traces = {path.name.removesuffix(".ipynb"): path for path in folder.glob(f"{pattern}.ipynb")}
    journals = {path.name.removesuffix(_JOURNAL): path for path in folder.glob(f"{pattern}{_JOURNAL}")}
    return [path for name, path in {**journals, **traces}.items() if not name.endswith(REPLAYED_SUFFIX)]


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    dated = []
    for path in {path.resolve() for path in paths}:
        with suppress(OSError):
            if path.is_file():  # reading a named pipe would never end
                dated.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]


def _read(path: Path) -> RecordedRun | None:
    """Read the run of a trace, or of the journal beside it if the trace is missing or damaged."""
    is_journal = path.suffix == ".jsonl"
    facts = None if is_journal else _read_notebook(path)
    facts = facts or _read_journal(path if is_journal else path.with_name(path.stem + _JOURNAL)) or {}
    settings, verdict = facts.get("settings"), facts.get("verdict")
    with suppress(ValidationError):  # the file was edited
        task = _TASK.validate_python(facts.get("task"))
        if isinstance(settings, dict):
            outcome = verdict.get("outcome") if isinstance(verdict, dict) else ""
            texts = (str(value or "") for value in (facts.get("run_id"), facts.get("resumes"), outcome))
            return RecordedRun(path.resolve(), task, settings, *texts)
    return None


def _read_notebook(path: Path) -> dict[str, Any] | None:
    try:
        facts = read_facts(path, "task", "settings", "run_id", "verdict", "resumes", most=_MAX_BYTES)
        has_records = _RECORDS in path.read_bytes()  # unlike a notebook that was exported from a trace
    except OSError:
        return None
    return facts if has_records and facts["task"] and facts["settings"] else None


def _read_journal(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            head = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    for line in head.splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            event = record.get("event") if isinstance(record, dict) else None
            if isinstance(event, dict) and event.get("kind") == "run_started":
                return event
    return None
