"""Asks the caller's kernel to fork itself, over whatever line carries the question, and waits for the answer.

The question goes out from the event loop; the answer, or the news that the kernel is gone, comes in from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import anyio

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.kernels.live_kernel import Hazard, LiveKernel
from exploracoder_jupyter.protocol.engine_messages import ForkKernel, KernelForked, LiveOffer

PATIENCE = 20.0
"""Seconds that the kernel is given to fork itself: it may be in code that holds the interpreter."""

_GONE = "it is gone"


class KernelLine:
    """The line to one kernel."""

    def __init__(self, ask: Callable[[ForkKernel], None], *, patience: float | None = None) -> None:
        """`ask` sends a request and returns at once.

        `patience` is in seconds; `PATIENCE` by default, longer on a busy machine.
        """
        self._ask = ask
        self._patience = scale(PATIENCE) if patience is None else patience
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[str]]] = {}
        self._gone = False

    def kernel(self, offer: LiveOffer) -> LiveKernel:
        """The kernel at the other end, as it offered itself."""
        hazards = tuple(Hazard(found.kind, found.library, found.what) for found in offer.hazards)
        return LiveKernel(self.fork, hazards, tuple(offer.secretive), tuple(offer.paths))

    async def fork(self, address: str) -> None:
        """Let the kernel fork itself; the child connects to the UNIX socket at the address.

        Raises:
            KernelError: it cannot, it does not answer in time, or it is gone.
        """
        number, answer = self._expect_answer()
        try:
            self._ask(ForkKernel(number=number, address=address))
            with anyio.fail_after(self._patience):
                problem = await answer
        except TimeoutError:
            problem = f"it is busy and did not answer within {self._patience:g} s"
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if problem:
            raise KernelError(f"Your kernel could not be forked: {problem.rstrip('.')}.")

    def answered(self, message: KernelForked) -> None:
        """Take an answer. From any thread; one that comes too late is passed over."""
        with self._lock:
            waiting = self._waiting.get(message.number)
        if waiting:
            _resolve(*waiting, message.problem)

    def gone(self) -> None:
        """The kernel will answer nothing more. From any thread."""
        with self._lock:
            self._gone = True
            waiting = list(self._waiting.values())
        for loop, answer in waiting:
            _resolve(loop, answer, _GONE)

    def _expect_answer(self) -> tuple[int, asyncio.Future[str]]:
        loop = asyncio.get_running_loop()
        number, answer = next(self._numbers), loop.create_future()
        with self._lock:
            self._waiting[number] = (loop, answer)
            if self._gone:
                answer.set_result(_GONE)
        return number, answer


def _resolve(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[str], problem: str) -> None:
    def settle() -> None:
        if not answer.done():
            answer.set_result(problem)

    with suppress(RuntimeError):  # the run has just ended, and its event loop with it
        loop.call_soon_threadsafe(settle)
