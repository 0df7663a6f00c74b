"""Whether experiments can import what could not be imported to be read."""

from __future__ import annotations

from collections.abc import Sequence

from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.pipeline.ports import Branch


async def import_notices(root: Branch, names: Sequence[str], *, timeout: float) -> list[Notice]:
    """A notice on each of these libraries, found by importing it in a branch that is then given up.

    `timeout`: seconds for each import.
    """
    return [await _tried(root, name, timeout) for name in names]


async def _tried(root: Branch, name: str, timeout: float) -> Notice:
    (branch,) = await root.fork(1)
    try:
        seen = await branch.run(f"import {name}", timeout=timeout)
    finally:
        await branch.close()
    if seen.ran:
        return Notice(f"Experiments can import {name!r}.")
    why = seen.error.headline if seen.error else "the import does not end"
    return Notice(f"Experiments cannot import {name!r} either ({why}): all that use it will fail.", "warning")
