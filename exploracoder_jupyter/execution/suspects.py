"""Libraries whose forks have hung on this machine: remembered, so that the same is not tried twice."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

_MOST: Final = 50


def known_suspects() -> list[str]:
    """The libraries that are remembered; none where nothing can be read."""
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)][:_MOST] if isinstance(found, list) else []


def remember(library: str) -> None:
    """Remember one more. Where nothing can be written, it is forgotten with this run."""
    names = sorted({*known_suspects(), library})
    with suppress(OSError):
        _path().parent.mkdir(parents=True, exist_ok=True)
        _path().write_text(json.dumps(names), encoding="utf-8")


def _path() -> Path:
    return user_cache_path("exploracoder_jupyter") / "fork-suspects.json"
