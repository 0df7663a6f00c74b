"""What holds a connection: closed by `aclose`, or by the end of an `async with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """An async context that closes itself."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what is held. Idempotent."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
