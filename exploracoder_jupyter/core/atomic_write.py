"""Writes a file in one move, so that there is a whole one at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

_MOST_NAME = 40
"""Characters of a file's name that its draft has too: a name may be as long as a file system takes."""


def put(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Put the content into the file; on failure, as on a full disk, the old one stays, and no half of a new one.

    Args:
        path: the file; its folder must be there.
        content: all that it is to hold.
        mode: who may do what with it, less what the process's umask takes away.

    Raises:
        OSError: it could not be written.
    """
    draft = path.with_name(f".{path.stem[:_MOST_NAME]}.{token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
