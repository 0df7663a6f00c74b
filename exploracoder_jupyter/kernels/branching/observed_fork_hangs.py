"""Remembers for 30 days which libraries made forks hang on this machine, so that they are not forked again."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

_MAX_LIBRARIES: Final = 50
_EXPIRY_SECONDS: Final = 30 * 24 * 3600.0
"""Entries expire: a later version of the library may survive a fork."""


def libraries_that_hung() -> list[str]:
    """Return the libraries on the list; empty where it cannot be read."""
    return sorted(_read_entries())[:_MAX_LIBRARIES]


def record_hang(library: str) -> None:
    """Add a library to the list. Where the list cannot be written, the entry is lost."""
    with suppress(OSError):
        _path().parent.mkdir(parents=True, exist_ok=True)
        _path().write_text(json.dumps({**_read_entries(), library: time.time()}), encoding="utf-8")


def _read_entries() -> dict[str, float]:
    """Return the entries that have not expired: library name to the time of its last hang."""
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    since = time.time() - _EXPIRY_SECONDS
    if not isinstance(found, dict):
        return {}
    return {name: at for name, at in found.items() if isinstance(at, int | float) and at > since}


def _path() -> Path:
    return user_cache_path("exploracoder_jupyter") / "fork-suspects.json"
