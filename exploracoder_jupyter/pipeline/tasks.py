"""Task groups that raise one plain error: callers catch `ExploraError`, never a group of one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.errors import ExploraError


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """An anyio task group; when tasks fail with errors of ours, the first of them is raised."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as failures:
        ours, others = failures.split(ExploraError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None


def _first(group: BaseExceptionGroup[ExploraError]) -> ExploraError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
