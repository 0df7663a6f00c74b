"""The results of an evaluation: one append-only JSON-lines file a worker, in the folder `results`.

A process may be killed at any moment, so a line counts only if it is complete, and a unit may have been run twice. Of
several rows of one unit the first final one counts, else the first one, in the order of file names and lines. Names of
files begin with the time, so later rows never displace a final one.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from types import TracebackType, UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.scheduling.unit_queue import is_final

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
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
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
