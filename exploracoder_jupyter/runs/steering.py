"""Requests a fork from the caller's kernel, over any message channel, and waits for the answer.

Requests are sent from the event loop; answers, and the notification that the kernel is gone, may arrive from any
thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import anyio

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.protocol.messages import Control, ForkKernel, KernelForked, LiveOffer

# Steers an active run: stops it, and passes it the controls of a front end.


class RunSteering:
    """Controls an active run.

    Except for `bind` and `next`, all methods may be called from any thread or signal handler. Controls sent before the
    run accepts them are queued; those sent after its end are ignored.
    """

    def __init__(self) -> None:
        self._stopped = False
        self._queue: deque[Control] = deque()
        self._bound: tuple[asyncio.AbstractEventLoop, asyncio.Event, anyio.CancelScope] | None = None

    def stop(self) -> None:
        """End the run now, and keep the results so far."""
        self._stopped = True
        if self._bound:
            loop, _, scope = self._bound
            call_soon(loop, scope.cancel)

    def send(self, control: Control) -> None:
        """Queue a control for the run."""
        self._queue.append(control)
        if self._bound:
            loop, arrived, _ = self._bound
            call_soon(loop, arrived.set)

    def bind(self, scope: anyio.CancelScope) -> None:
        """Make `stop` cancel this scope. Must be called in the run's event loop, before `next`."""
        self._bound = (asyncio.get_running_loop(), asyncio.Event(), scope)
        if self._stopped:
            scope.cancel()

    async def next(self) -> Control:
        """Wait for the next control; see the port `Steering`. Must be called in the run's event loop."""
        assert self._bound
        _, arrived, _ = self._bound
        while not self._queue:
            arrived.clear()
            await arrived.wait()
        return self._queue.popleft()


def call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Call back in the loop, from any thread; not at all if the loop is closed."""
    with suppress(RuntimeError):  # the run has just ended, and its event loop is closed
        loop.call_soon_threadsafe(callback)


PATIENCE = 20.0
"""Seconds to wait for the fork: the kernel may be running code that holds the GIL."""

_GONE = "it is gone"


class KernelForkClient:
    """Sends fork requests to one kernel.

    Args:
        ask: sends a request and returns at once.
        patience: time limit for an answer, in seconds; by default `PATIENCE`, longer on a busy machine.
    """

    def __init__(self, ask: Callable[[ForkKernel], None], *, patience: float | None = None) -> None:
        self._ask = ask
        self._patience = scale_limit(PATIENCE) if patience is None else patience
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[str]]] = {}
        self._gone = False

    def kernel(self, offer: LiveOffer) -> LiveKernel:
        """Return the live kernel described by an offer."""
        return LiveKernel(self.fork, tuple(offer.hazards), tuple(offer.secretive), tuple(offer.paths))

    async def fork(self, address: str) -> None:
        """Request a fork; the child process connects to the UNIX socket at the address.

        Raises:
            KernelError: the kernel cannot fork, does not answer in time, or is gone.
        """
        loop = asyncio.get_running_loop()
        number, answer = next(self._numbers), loop.create_future()
        with self._lock:
            self._waiting[number] = (loop, answer)
            if self._gone:
                answer.set_result(_GONE)
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
        """Handle an answer, from any thread; a late answer is ignored."""
        with self._lock:
            waiting = self._waiting.get(message.number)
        if waiting:
            _resolve(*waiting, message.problem)

    def gone(self) -> None:
        """Fail all requests, now and later, because the kernel is gone. From any thread."""
        with self._lock:
            self._gone = True
            waiting = list(self._waiting.values())
        for loop, answer in waiting:
            _resolve(loop, answer, _GONE)


def _resolve(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[str], problem: str) -> None:
    def settle() -> None:
        if not answer.done():
            answer.set_result(problem)

    call_soon(loop, settle)
