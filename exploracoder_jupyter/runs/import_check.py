"""Checks whether experiments can import the libraries that could not be imported for indexing."""

from __future__ import annotations

from collections.abc import Sequence

from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.pipeline.ports import Branch


async def check_imports(root: Branch, names: Sequence[str], *, timeout: float) -> list[Notice]:
    """Import each library in a temporary branch, and return a notice with the result.

    `timeout` is in seconds, for each import.
    """
    return [await _check_import(root, name, timeout) for name in names]


async def _check_import(root: Branch, name: str, timeout: float) -> Notice:
    (branch,) = await root.fork(1)
    try:
        observation = await branch.run(f"import {name}", timeout=timeout)
    finally:
        await branch.close()
    if observation.ran:
        return Notice(f"Experiments can import {name!r}.")
    why = observation.error.headline if observation.error else "the import does not end"
    return Notice(f"Experiments cannot import {name!r} either ({why}), so all that use it will fail.", "warning")
