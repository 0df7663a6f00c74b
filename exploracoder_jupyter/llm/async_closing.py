"""A base class for objects with a connection: closed by `aclose`, or at the end of an `async with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class AsyncClosable(ABC):
    """An async context manager that calls `aclose` on exit."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connection. Idempotent."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
