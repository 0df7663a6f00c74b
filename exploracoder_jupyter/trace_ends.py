"""What a trace says of its run, read from its ends: quick, however many records it holds.

Anything may come in, for a trace may be somebody else's.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def is_there(path: Path | str) -> bool:
    """Whether it can be seen that there is such a file: not in a folder that is closed to us or has lost its disk."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def facts_of(path: Path, *names: str, most: int) -> dict[str, Any]:
    """What a trace says of its run under these names, read from `most` bytes: `None` where it is not whole in them.

    A trace ends with it, behind the long records; one of version 1 that Jupyter has not saved begins with it.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(most).decode("utf-8", "replace")
        file.seek(-min(most, path.stat().st_size), os.SEEK_END)
        tail = file.read().decode("utf-8", "replace")
    at_the_end = head.lstrip("{ \n").startswith('"cells"')
    return {name: _value(*(tail.rpartition if at_the_end else head.partition)(f'"{name}": ')) for name in names}


def _value(_: str, found: str, rest: str) -> Any:
    """What stands behind a field's name; in a string the quotes around a name are escaped."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None
