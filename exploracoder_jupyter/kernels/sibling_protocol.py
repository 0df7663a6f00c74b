"""What a branch needs from the kernel that it runs in, on this machine or behind a server.

Implemented by `sibling_kernel.Sibling` and `remote_sibling.RemoteSibling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.sibling_kernel import ExecutionResult


class AnySibling(Protocol):
    """A running kernel other than the user's."""

    @property
    def is_alive(self) -> bool:
        """Whether code can be run in it."""
        ...

    async def execute(self, code: str, *, timeout: float, collector: OutputCollector) -> ExecutionResult:
        """Run code and collect its outputs. Nothing that the code does raises. Cancelling ends the sibling."""
        ...

    async def end(self, reason: str) -> None:
        """End the kernel with everything that it started, and record why."""
        ...

    async def close(self) -> None:
        """End the kernel and release its local resources. Idempotent."""
        ...
