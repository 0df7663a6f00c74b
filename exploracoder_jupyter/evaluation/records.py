"""What an evaluation was asked for and what it has found, on disk: resumed only where both fit."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from itertools import count
from pathlib import Path
from secrets import token_hex
from types import TracebackType, UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import is_final

# The manifest of an evaluation: what was asked for, so that only the same evaluation is resumed in its folder.

EVALUATIONS = "evaluations"
_NAME = "manifest.json"
_FORMAT = 1
_WORDS = {
    "problem_set": "problems",
    "problems_digest": "problems",
    "version": "versions of this package",
    "format": "versions of this package",
    "model": "models",
    "replies": "recorded replies",
}
"""What differs where a field does."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an evaluation runs."""

    problem_set: str
    problems: int
    problems_digest: str
    """Digest of the contents of all problems."""
    strategies: tuple[str, ...]
    model: str
    samples: int
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings layer that was given."""
    replies: str = ""
    """Where recorded replies come from, if a replay was asked for."""
    version: str = __version__
    """Version of this package."""
    id: str = field(default_factory=lambda: token_hex(8), compare=False)
    """Identifies the evaluation, however often it is resumed."""
    python: str = field(default_factory=platform.python_version, compare=False)
    created: str = field(default_factory=lambda: datetime.now().isoformat(timespec="seconds"), compare=False)
    format: int = _FORMAT


_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)


def problems_digest(problems: Iterable[Problem]) -> str:
    """Return a digest of the problems in their order; where they are stored does not matter."""
    digest = hashlib.sha256()
    for problem in problems:
        values = {name: value for name, value in asdict(problem).items() if name not in ("folder", "docs")}
        digest.update(json.dumps(values, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def default_folder(beside: Path, problem_set: str, now: datetime) -> Path:
    """Create and return an unused folder `evaluations/<problem set>-<yyyymmdd-hhmmss>`."""
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', problem_set).strip('.-')[:60] or 'problems'}-{now:%Y%m%d-%H%M%S}"
    for number in count(1):
        folder = beside / EVALUATIONS / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(folder, error) from error
    return folder


def prepare_folder(folder: Path, wanted: Manifest, *, resume: bool) -> Manifest:
    """Write the manifest into a new folder, or check that the folder's evaluation is the wanted one, and return it."""
    recorded = read_manifest(folder)
    if recorded is None:
        if resume:
            raise UsageError(f"There is no evaluation in {str(folder)!r}.", remedy="Omit --resume to start one.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / _NAME, _MANIFEST.dump_json(wanted, indent=2) + b"\n")
        except OSError as error:
            raise _unwritable(folder, error) from error
        return wanted
    compared = [one.name for one in fields(Manifest) if one.compare]
    changed = [name for name in compared if getattr(recorded, name) != getattr(wanted, name)]
    if different := dict.fromkeys(_WORDS.get(name, name) for name in changed):
        raise UsageError(
            f"The evaluation in {str(folder)!r} was started with other {' and '.join(different)}.",
            remedy="Repeat its arguments, or name another folder with --out.",
        )
    if not resume:
        raise UsageError(
            f"{str(folder)!r} already contains this evaluation.",
            remedy="Add --resume to continue it, or name another folder with --out.",
        )
    return recorded


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest in a folder; `None` if there is none."""
    path = folder / _NAME
    try:
        return _MANIFEST.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        remedy = "Name another folder with --out."
        raise UsageError(f"{str(path)!r} is not the manifest of an evaluation.", remedy=remedy) from error


def _unwritable(folder: Path, error: OSError) -> UsageError:
    reason = error.strerror or os.strerror(error.errno or 0)
    return UsageError(
        f"The folder {str(folder)!r} cannot be written: {reason}.", remedy="Name another folder with --out."
    )


# The results of an evaluation: one append-only JSON-lines file a worker, in the folder `results`.
#
# A process may be killed at any moment, so a line counts only if it is complete, and a unit may have been run
# twice. Of several rows of one unit the first final one counts, else the first one, in the order of file names and
# lines. Names of files begin with the time, so later rows never displace a final one.

FOLDER = "results"
PARQUET = "results.parquet"
_ROW: TypeAdapter[UnitResult] = TypeAdapter(UnitResult)
_ROWS_AT_ONCE = 10_000
"""Number of rows that are converted for Parquet at a time."""


class ResultsWriter:
    """Appends rows to a new file of its own in the folder of an evaluation."""

    def __init__(self, folder: Path) -> None:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}-{platform.node()}-{os.getpid()}-{token_hex(4)}.jsonl"
        self.path = folder / FOLDER / name
        self._file = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666
        )
        self._is_torn = False

    def append(self, result: UnitResult) -> None:
        """Append a row; it is in the file, though not yet on the disk, when this returns. OSError if that failed."""
        start = b"\n" if self._is_torn else b""  # after a row that the disk had no space for
        row = memoryview(start + _ROW.dump_json(result) + b"\n")
        self._is_torn = True
        while row:
            row = row[os.write(self._file, row) :]
        self._is_torn = False

    def close(self) -> None:
        """Close the file, and remove it if it is empty. Idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            if not os.fstat(file).st_size:
                self.path.unlink(missing_ok=True)
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def read_results(folder: Path) -> list[UnitResult]:
    """Read the results in the folder of an evaluation, one a unit, in the order of their first rows."""
    rows = []
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):  # torn by the end of its writer
                    rows.append(_ROW.validate_json(line))
    return unique_results(rows)


def unique_results(rows: Iterable[UnitResult]) -> list[UnitResult]:
    """Return one row a unit: the first final one, else the first one."""
    found: dict[str, UnitResult] = {}
    for row in rows:
        known = found.get(row.unit)
        if known is None or (is_final(row) and not is_final(known)):
            found[row.unit] = row
    return list(found.values())


def write_parquet(results: Sequence[UnitResult], folder: Path) -> Path | None:
    """Write the results to `results.parquet`, replacing it atomically; mappings are columns with JSON text.

    Returns its path; `None` where pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        return None
    temporary = folder / f".{PARQUET}.{token_hex(4)}.tmp"
    schema = arrow.schema([(name, _parquet_type(arrow, hint)) for name, hint in get_type_hints(UnitResult).items()])
    try:
        with parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for start in range(0, len(results), _ROWS_AT_ONCE):
                columns: dict[str, list[object]] = {}
                for name in schema.names:
                    values = (getattr(result, name) for result in results[start : start + _ROWS_AT_ONCE])
                    columns[name] = [json.dumps(value) if isinstance(value, dict) else value for value in values]
                writer.write_table(arrow.Table.from_pydict(columns, schema=schema))
        return temporary.replace(folder / PARQUET)
    finally:
        temporary.unlink(missing_ok=True)


def _parquet_type(arrow: Any, hint: Any) -> Any:
    origin = get_origin(hint)
    if origin is UnionType:
        return _parquet_type(arrow, get_args(hint)[0])
    if origin is tuple:
        return arrow.list_(_parquet_type(arrow, get_args(hint)[0]))
    if origin in (dict, Literal):
        return arrow.string()
    return {str: arrow.string(), int: arrow.int64(), bool: arrow.bool_(), float: arrow.float64()}[hint]
