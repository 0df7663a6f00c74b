"""Reads the source code of an API in the target environment, with a program that does not import the library."""

from __future__ import annotations

import json
from collections.abc import Sequence

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.knowledge.extraction.library_surface import Inspect

_MAX_PATHS = 12


async def read_source(paths: Sequence[str], *, inspect: Inspect) -> str:
    """Return the source at the first of these paths that has one; empty if there is none or it cannot be read."""
    try:
        lines = [line async for line in inspect("introspection.source_code", paths[:_MAX_PATHS])]
        found = json.loads("".join(lines))
    except (KernelError, ValueError):
        return ""
    source = found.get("source") if isinstance(found, dict) else None
    return source if isinstance(source, str) else ""
