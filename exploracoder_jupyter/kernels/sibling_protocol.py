"""What a branch needs of the kernel that it runs in, wherever that kernel is: here, or behind a server.

`sibling_kernel.Sibling` and `remote_sibling.RemoteSibling` offer it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from exploracoder_jupyter.kernels.observing.output_collector import Collector

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.sibling_kernel import Ending


class AnySibling(Protocol):
    """A running kernel that is not the user's."""

    @property
    def is_alive(self) -> bool:
        """Whether code can be run in it."""
        ...

    async def execute(self, code: str, *, timeout: float, collector: Collector) -> Ending:
        """Run code; outputs go to the collector. Nothing that the code does raises. Cancelling ends the sibling."""
        ...

    async def end(self, reason: str) -> None:
        """End it with everything that it started, and remember why."""
        ...

    async def close(self) -> None:
        """End it and release what it held here. Idempotent."""
        ...
