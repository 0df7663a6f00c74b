"""Where a trace is written, checked before the run starts.

A run that cannot keep what it learns is refused at once, in one sentence, instead of failing at its end. Nothing is
ever overwritten: an earlier trace is renamed, and any other file is refused.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from datetime import datetime
from pathlib import Path

from platformdirs import user_state_path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.trace.cell_metadata import NAMESPACE

FOLDER = "explorations"


def default_path(beside: Path, library: str, now: datetime) -> Path:
    """`explorations/<library>-<yyyymmdd-hhmmss>.ipynb` beside a notebook or in a folder; a name not taken yet.

    The name is reserved by an empty journal, so that two runs started in the same second do not meet.

    Raises:
        UsageError: nothing can be written there.
    """
    folder = (beside.parent if beside.suffix == ".ipynb" else beside) / FOLDER
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', library).strip('.-')[:60] or 'exploration'}-{now:%Y%m%d-%H%M%S}"
    return _reserved(folder, stem)


def resumed_path(trace: Path) -> Path:
    """`<name>-resumed.ipynb` beside a trace or its journal, for the run that goes on from it; a name not taken yet.

    Raises:
        UsageError: nothing can be written there.
    """
    return _reserved(trace.parent, f"{re.sub(r'-resumed(-[0-9]+)?$', '', notebook_path(trace).stem)}-resumed")


def prepare(path: Path, *, folder: Path | None = None, overwrite: bool = False) -> Path:
    """Make the folder of a trace and make sure that the trace can be written there; the absolute path.

    Args:
        path: where the trace is wanted, also as `~/x.ipynb`.
        folder: what it is relative to; none: the process's own.
        overwrite: whether any file that is there may be replaced; a trace always may, for `set_aside` keeps it.

    Raises:
        UsageError: it is not the name of a notebook, a notebook of the user is there, or it cannot be written.
    """
    try:
        path = ((folder or Path()) / path.expanduser()).resolve()
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # e.g. too long, a ring of links, no such user
        raise _unwritable(path, error) from error
    if is_folder:
        raise UsageError(f"The trace {str(path)!r} is a folder.", remedy="Name a notebook in it.")
    if path.suffix != ".ipynb":
        raise UsageError(f"The trace {str(path)!r} is not the name of a notebook.", remedy="Let it end in .ipynb.")
    if is_there and not (overwrite or _is_trace(path)):
        raise UsageError(f"{str(path)!r} exists and is not the trace of a run.", remedy="Name another path with --out.")
    _try_writing(path)
    return path


def set_aside(path: Path) -> Path | None:
    """Rename the trace at this path, and its journal, to the first free `<name>.1.ipynb`, `<name>.2.ipynb` and so on.

    Returns:
        The new path; `None` where there was nothing, or it could not be renamed.
    """
    journal, number = journal_path(path), 1
    there = [file for file in (path, journal) if _has_content(file)]
    while (kept := path.with_name(f"{path.stem}.{number}.ipynb")).exists() or journal_path(kept).exists():
        number += 1
    try:
        for file in there:
            file.replace(kept if file == path else journal_path(kept))
    except OSError:
        return None
    return kept if there else None


def journal_path(path: Path) -> Path:
    """The journal that is kept beside a trace while its run is under way."""
    return path.with_name(f"{path.stem}.journal.jsonl")


def spare_path(run_id: str) -> Path | None:
    """Where a run's journal is kept when there is no room beside its trace; none where that is no id of a run."""
    folder = user_state_path("exploracoder_jupyter") / "journals"
    return folder / f"{run_id}.journal.jsonl" if re.fullmatch("[0-9a-f]{8}", run_id) else None


def notebook_path(trace: Path) -> Path:
    """The notebook of a trace, which may be named by its journal."""
    return trace.with_name(re.sub(r"(\.journal(\.old)?\.jsonl|\.ipynb)$", "", trace.name) + ".ipynb")


def files_path(path: Path) -> Path:
    """Where the files that a solution wrote are kept, beside its trace; a name not taken yet."""
    number, found = 1, path.with_name(f"{path.stem}.files")
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}-{number}.files")
    return found


def _reserved(folder: Path, stem: str) -> Path:
    """The first path of this stem that is not taken, with its journal."""
    prepare(folder / f"{stem}.ipynb", overwrite=True)
    number = 1
    while True:
        path = folder / (f"{stem}.ipynb" if number == 1 else f"{stem}-{number}.ipynb")
        if not path.exists() and _reserve(journal_path(path)):
            return path
        number += 1


def _try_writing(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".explora-", suffix=journal_path(path).name) as probe:
            probe.write(bytes(4096))
            probe.flush()
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> UsageError:
    in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
    why = "there is a file where a folder is needed" if in_the_way else getattr(error, "strerror", None) or error
    return UsageError(f"The trace {str(path)!r} cannot be written: {why}.", remedy="Name another path with --out.")


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _is_trace(path: Path) -> bool:
    """Whether the file is empty, or a notebook that holds the records of a run or has them in its journal."""
    try:
        content = path.read_bytes()
        if not content.strip():
            return True
        facts = json.loads(content)["metadata"][NAMESPACE]
        return "records" in facts or journal_path(path).exists()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _reserve(journal: Path) -> bool:
    try:
        os.close(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
