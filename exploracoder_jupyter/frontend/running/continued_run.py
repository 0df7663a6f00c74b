"""Which recorded run a cell goes on from, and what its task was. The engine reads the rest of the trace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.recorded_settings import as_layer
from exploracoder_jupyter.core.trace_peek import REPLAYED, facts_of
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernel_agent.forking.secret_variables import secretive

if TYPE_CHECKING:
    from exploracoder_jupyter.core.settings import Layer
    from exploracoder_jupyter.frontend.magic_line import Call

_MOST = 300_000
"""Bytes of a trace that are read: task and settings stand at one end of it, in a journal in one of the first lines."""
_JOURNAL = ".journal.jsonl"
_RECORDS = b'"records": ['
_RESUMES = re.compile(rb'"resumes": "(\w*)"')
"""In the first record. Within a string quotes are escaped."""
_WITH_SOLUTION = ("solved", "unchecked")
_TASK: TypeAdapter[Task] = TypeAdapter(Task)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded run, as far as a cell has to know it."""

    trace: Path
    task: Task
    settings: dict[str, Any]
    run_id: str = ""
    resumes: str = ""
    """Id of the run that it goes on from, if any."""
    outcome: str = ""
    """As in a verdict; empty where it was cut off."""

    @property
    def stem(self) -> str:
        """The name of its trace without what says of which kind the file is."""
        return self.trace.name.removesuffix(".ipynb").removesuffix(_JOURNAL)

    def layer(self, *stronger: Layer) -> Layer:
        """Its settings, where these say nothing else."""
        return as_layer(self.settings, stronger)

    def is_at(self, out: str | None) -> bool:
        """Whether this is the path of its trace."""
        with suppress(RuntimeError):  # there is no such user
            return bool(out) and Path(out or "").expanduser().resolve() == self.trace
        return False

    def complete(self, call: Call, namespace: Mapping[str, object]) -> Call:
        """The call with what it leaves to the recorded run.

        Raises:
            UsageError: it goes on from that run, which used variables that are not in this namespace, or that look like
                credentials in it.
        """
        task = self.task
        present = {name: namespace[name] for name in task.uses if name in namespace and name not in call.uses}
        guarded = secretive(present)  # a trace may be anybody's
        if not call.replay:
            _refuse_lacking([name for name in task.uses if name not in namespace], guarded)
        used = [name for name in present if name not in guarded]
        return replace(
            call,
            libraries=call.libraries or task.libraries,
            uses=tuple(dict.fromkeys([*used, *call.uses])),
            check=task.check if call.check is None else call.check,
            solution_name=call.solution_name or task.solution_name,
        )


def _refuse_lacking(missing: Sequence[str], guarded: Sequence[str]) -> None:
    if missing:
        names = ", ".join(missing)
        raise UsageError(f"That run used variables that are not here now: {names}.", remedy="Make them first.")
    if guarded:
        names = " ".join(guarded)
        raise UsageError(
            f"That run used variables that look like credentials here: {names}.", remedy=f"Add --use {names}."
        )


def recorded(
    named: str,
    task: str,
    folder: Path,
    *,
    also: Iterable[Path] = (),
    check: str | None = None,
    any_end: bool = False,
) -> RecordedRun:
    """The run of the named trace; without a name, the newest one of this task.

    One with this check is taken before one with another; then one that can be gone on from, and that none goes on from.

    Args:
        named: the trace's path, or empty.
        task: in words; empty only with a name.
        folder: the notebook's, in whose explorations is looked.
        also: other places where a trace may be; one of a run that went on from it may be beside it.
        check: the code of it, as the cell has it.
        any_end: whether the run may have ended with a solution as well.

    Raises:
        UsageError: there is none, or the one that is named has another task.
    """
    if named:
        return _named(named, task)
    paths = _newest_first([*_traces(folder / "explorations", "*"), *_at(also)])
    runs = [run for path in paths if (run := _read(path)) and _same(task, run.task.text)]
    gone_on = {run.resumes for run in runs}

    def less_wanted(run: RecordedRun) -> tuple[bool, bool]:
        ended = run.outcome in _WITH_SOLUTION or run.run_id in gone_on
        return not _same(check or "", run.task.check or ""), ended and not any_end

    if found := min(runs, key=less_wanted, default=None):
        return found
    raise UsageError(
        f"No trace of this task is in {folder / 'explorations'}.", remedy="Name one: --resume TRACE, or explore anew."
    )


def _same(text: str, recorded: str) -> bool:
    """Whether a trace has this text, which may hide a home."""
    return recorded.strip() in (text.strip(), text.strip().replace(str(Path.home()), "~"))


def _named(named: str, task: str) -> RecordedRun:
    try:
        path = Path(named).expanduser()
        found, there = _read(path), path.exists() or path.with_name(path.stem + _JOURNAL).exists()
    except (RuntimeError, ValueError, OSError):  # there is no such user, or no path is written so
        found, there = None, False
    if found is None:
        raise UsageError(
            f"{named!r} is not the trace of a run." if there else f"There is no file {named!r}.",
            remedy="Name a notebook that an exploration wrote; libraries stand before --resume.",
        )
    if task and not _same(task, found.task.text):
        raise UsageError(
            f"The task below is not that of the run in {found.trace.name}.",
            remedy="Leave it out, for the trace has it; or explore anew.",
        )
    return found


def _at(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        with suppress(RuntimeError):  # there is no such user
            place = place.expanduser()
        stem = escape(place.name.removesuffix(".ipynb"))
        for pattern in (stem, f"{stem}.[0-9]*", f"{stem}-resumed*"):
            yield from _traces(place.parent, pattern)


def _traces(folder: Path, pattern: str) -> Iterable[Path]:
    """Traces whose names fit, and journals of which there is no trace yet; none of a run that showed another again."""
    traces = {path.name.removesuffix(".ipynb"): path for path in folder.glob(f"{pattern}.ipynb")}
    journals = {path.name.removesuffix(_JOURNAL): path for path in folder.glob(f"{pattern}{_JOURNAL}")}
    return [path for name, path in {**journals, **traces}.items() if not name.endswith(REPLAYED)]


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    dated = []
    for path in {path.resolve() for path in paths}:
        with suppress(OSError):
            dated.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]


def _read(path: Path) -> RecordedRun | None:
    """The run of a trace, or of the journal beside it where the trace is not there or torn."""
    readers = [_of_journal] if path.suffix == ".jsonl" else [_of_notebook, _of_journal_beside]
    facts = next((found for reader in readers if (found := reader(path))), {})
    settings, verdict = facts.get("settings"), facts.get("verdict")
    with suppress(ValidationError):  # somebody has changed it
        task = _TASK.validate_python(facts.get("task"))
        if isinstance(settings, dict):
            outcome = verdict.get("outcome") if isinstance(verdict, dict) else ""
            told = (str(one or "") for one in (facts.get("run_id"), facts.get("resumes"), outcome))
            return RecordedRun(path.resolve(), task, settings, *told)
    return None


def _of_notebook(path: Path) -> dict[str, Any] | None:
    try:
        facts = facts_of(path, "task", "settings", "run_id", "verdict", most=_MOST)
        content = path.read_bytes()
    except OSError:
        return None
    records = content.find(_RECORDS)  # what was made from a trace has none
    if records < 0 or not (facts["task"] and facts["settings"]):
        return None
    resumes = _RESUMES.search(content, records)
    return {**facts, "resumes": resumes[1].decode() if resumes else ""}


def _of_journal_beside(path: Path) -> dict[str, Any] | None:
    return _of_journal(path.with_name(path.stem + _JOURNAL))


def _of_journal(path: Path) -> dict[str, Any] | None:
    for line in _head(path).splitlines():
        with suppress(ValueError):
            record = json.loads(line)
            event = record.get("event") if isinstance(record, dict) else None
            if isinstance(event, dict) and event.get("kind") == "run_started":
                return event
    return None


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
