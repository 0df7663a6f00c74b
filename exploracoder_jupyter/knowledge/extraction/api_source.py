"""The source code of an API, read where the code will run, by a program that imports nothing of the library."""

from __future__ import annotations

import json
from collections.abc import Sequence

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.knowledge.extraction.public_surface import Inspect

_MOST_PATHS = 12
"""Paths of one API that are tried."""


async def source_of(paths: Sequence[str], *, inspect: Inspect) -> str:
    """The source at the first of these paths that has one; empty where none does, or where it cannot be read."""
    try:
        lines = [line async for line in inspect("introspection.source_code", paths[:_MOST_PATHS])]
        found = json.loads("".join(lines))
    except (KernelError, ValueError):
        return ""
    source = found.get("source") if isinstance(found, dict) else None
    return source if isinstance(source, str) else ""
