"""Libraries whose forks have hung on this machine: remembered for a while, so that the same is not tried twice."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

_MOST: Final = 50
_SECONDS: Final = 30 * 24 * 3600.0
"""A library may have learned to be forked since."""


def known_suspects() -> list[str]:
    """The libraries that are remembered; none where nothing can be read."""
    return sorted(_read())[:_MOST]


def remember(library: str) -> None:
    """Remember one more. Where nothing can be written, it is forgotten with this run."""
    with suppress(OSError):
        _path().parent.mkdir(parents=True, exist_ok=True)
        _path().write_text(json.dumps({**_read(), library: time.time()}), encoding="utf-8")


def _read() -> dict[str, float]:
    """The libraries, and when each was seen to hang, but for those of long ago."""
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    since = time.time() - _SECONDS
    if not isinstance(found, dict):
        return {}
    return {name: at for name, at in found.items() if isinstance(at, int | float) and at > since}


def _path() -> Path:
    return user_cache_path("exploracoder_jupyter") / "fork-suspects.json"
