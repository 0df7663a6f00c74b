"""Task groups that raise one plain error: callers catch `ExploraError`, never a group."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import unwrapped


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """An anyio task group; when tasks fail, one error is raised, ours first."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as failures:
        raise unwrapped(failures) from None
