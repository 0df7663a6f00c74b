"""Writes a file atomically, so that a reader always finds a complete one."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

_MAX_STEM = 40
"""Characters of a file's stem that its temporary file reuses: the name may already be as long as the file system
allows."""


def write_atomic(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replace the file's content atomically. On failure, such as a full disk, the old file stays as it was.

    Its folder must exist. `mode` is reduced by the process's umask.
    """
    temporary = path.with_name(f".{path.stem[:_MAX_STEM]}.{token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
