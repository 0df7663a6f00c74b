"""Chooses and checks the path of a trace before the run starts.

A run whose trace cannot be written is refused at once, with a one-sentence reason, instead of failing at its end.
Nothing is ever overwritten: an existing trace is renamed, and any other file is refused.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from platformdirs import user_state_path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.trace.metadata import NAMESPACE

FOLDER = "explorations"


def default_path(beside: Path, library: str, now: datetime) -> Path:
    """Return an unused path `explorations/<library>-<yyyymmdd-hhmmss>.ipynb` beside a notebook or in a folder.

    An empty journal reserves the name, so that two runs started in the same second get different names.

    Raises:
        UsageError: the folder is not writable.
    """
    folder = (beside.parent if beside.suffix == ".ipynb" else beside) / FOLDER
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', library).strip('.-')[:60] or 'exploration'}-{now:%Y%m%d-%H%M%S}"
    return _reserve_path(folder, stem)


def resumed_path(trace: Path) -> Path:
    """Return an unused path `<name>-resumed.ipynb` beside a trace or its journal, for the run that resumes it.

    Raises:
        UsageError: the folder is not writable.
    """
    return _reserve_path(trace.parent, f"{re.sub(r'-resumed(-[0-9]+)?$', '', notebook_path(trace).stem)}-resumed")


def prepare_path(path: Path, *, folder: Path | None = None, overwrite: bool = False) -> Path:
    """Create the folder of a trace, check that the trace can be written there, and return its absolute path.

    A relative path is below `folder`, by default the working directory of the process. `overwrite` allows to replace
    any file; a trace may always be, because it is renamed first.

    Raises:
        UsageError: the path does not name a notebook, a notebook of the user exists there, or it is not writable.
    """
    try:
        path = ((folder or Path()) / path.expanduser()).resolve()
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # e.g. too long, a symlink loop, no such user
        raise _unwritable_error(path, error) from error
    if is_folder:
        raise UsageError(f"The trace {str(path)!r} is a folder.", remedy="Name a notebook in it.")
    if path.suffix != ".ipynb":
        raise UsageError(f"The trace {str(path)!r} is not the name of a notebook.", remedy="End the name in .ipynb.")
    if is_there and not (overwrite or _is_trace(path)):
        raise UsageError(f"{str(path)!r} exists and is not the trace of a run.", remedy="Name another path with --out.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".explora-", suffix=journal_path(path).name) as probe:
            probe.write(bytes(4096))
            probe.flush()
    except OSError as error:
        raise _unwritable_error(path, error) from error
    return path


def rename_existing_trace(path: Path) -> Path | None:
    """Rename the trace at this path, and its journal, to the first free `<name>.1.ipynb`, `<name>.2.ipynb` and so on.

    Returns:
        The new path; `None` if there was no trace or it could not be renamed.
    """
    journal, number = journal_path(path), 1
    existing = [file for file in (path, journal) if file.is_file() and file.stat().st_size > 0]
    while (renamed := path.with_name(f"{path.stem}.{number}.ipynb")).exists() or journal_path(renamed).exists():
        number += 1
    try:
        for file in existing:
            file.replace(renamed if file == path else journal_path(renamed))
    except OSError:
        return None
    return renamed if existing else None


def journal_path(path: Path) -> Path:
    """Return the path of the journal beside a trace, which exists while the run is active."""
    return path.with_name(f"{path.stem}.journal.jsonl")


def spare_journal_path(run_id: str) -> Path | None:
    """Return the path for a run's journal when the disk of its trace is full; `None` if `run_id` is not a run id."""
    folder = user_state_path("exploracoder_jupyter") / "journals"
    return folder / f"{run_id}.journal.jsonl" if re.fullmatch("[0-9a-f]{8}", run_id) else None


def notebook_path(trace: Path) -> Path:
    """Return the path of a trace's notebook, given the path of the notebook or of its journal."""
    return trace.with_name(re.sub(r"(\.journal(\.old)?\.jsonl|\.ipynb)$", "", trace.name) + ".ipynb")


def files_path(path: Path) -> Path:
    """Return an unused path beside the trace for the files that the solution wrote."""
    number, folder = 1, path.with_name(f"{path.stem}.files")
    while folder.exists():
        number += 1
        folder = path.with_name(f"{path.stem}-{number}.files")
    return folder


def _reserve_path(folder: Path, stem: str) -> Path:
    prepare_path(folder / f"{stem}.ipynb", overwrite=True)
    number = 1
    while True:
        path = folder / (f"{stem}.ipynb" if number == 1 else f"{stem}-{number}.ipynb")
        if not path.exists():
            with suppress(FileExistsError):
                os.close(os.open(journal_path(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                return path
        number += 1


def _unwritable_error(path: Path, error: Exception) -> UsageError:
    is_blocked = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "there is a file where a folder is needed" if is_blocked else getattr(error, "strerror", None) or error
    return UsageError(f"The trace {str(path)!r} cannot be written: {reason}.", remedy="Name another path with --out.")


def _is_trace(path: Path) -> bool:
    """Whether the file is empty, or a notebook with the records of a run in its metadata or in its journal."""
    try:
        content = path.read_bytes()
        if not content.strip():
            return True
        metadata = json.loads(content)["metadata"][NAMESPACE]
        return "records" in metadata or journal_path(path).exists()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
