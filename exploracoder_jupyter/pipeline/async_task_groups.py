"""Task groups that raise one plain error: callers catch `ExploraError`, never a group."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import unwrap_group


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """Open an anyio task group; when tasks fail, one error is raised, preferably an `ExploraError`."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as failures:
        raise unwrap_group(failures) from None
