"""One sibling kernel: started confined, asked to run code, watched, ended with everything it started.

`Sibling.execute` is three things at once: the reply, the outputs, and whether the process is still there. Whatever
happens first decides: the end, a timeout or a flood of output (an interrupt, then the end of the tree), or death, which
is noticed from the process and not by waiting. Nothing that the code does raises here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from exploracoder_jupyter.errors import KernelError
from exploracoder_jupyter.execution.incoming import Message, encodable, understand
from exploracoder_jupyter.execution.messages import Collector
from exploracoder_jupyter.execution.processes import Census, TreeUse

Cause = Literal["finished", "timeout", "flooded", "died"]

_START_SECONDS: Final = 60.0
_ASK_AGAIN_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 1.0
_REAP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05
_LOST_IDLE_SECONDS: Final = 2.0
_LAST_WORDS_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one sibling."""

    command: Sequence[str]
    """Confinement, interpreter and start-up; `{connection_file}` is filled in."""
    environ: dict[str, str]
    cwd: Path
    folder: Path
    """The sibling's own folder, with a short path: sockets, connection file, log."""
    supervised: bool
    """Whether a supervisor (bubblewrap) is the root of the tree."""


@dataclass(slots=True)
class Ending:
    """How an execution ended."""

    cause: Cause = "died"
    reply: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""


class Sibling:
    """A running kernel. Made by `start`; `close` is idempotent and must be awaited."""

    def __init__(self, launch: Launch, manager: AsyncKernelManager, client: AsyncKernelClient, lifeline: int) -> None:
        self._launch, self._manager, self._client, self._lifeline = launch, manager, client, lifeline
        self._process: subprocess.Popen[bytes] = getattr(manager.provisioner, "process")  # noqa: B009
        self._census = Census(self._process.pid)
        self._closed = False
        self.end_reason = ""
        """Why the sibling was ended, or is dead; empty while it lives."""

    @classmethod
    async def start(cls, launch: Launch, context: zmq.asyncio.Context) -> Sibling:
        """Start a kernel and wait until it answers.

        Raises:
            KernelError: it did not start; the message has the last line of its log.
        """
        manager = _manager(launch, context)
        with anyio.CancelScope(shield=True):  # cut short in here, a process would be left that nobody knows
            lifeline = await _launch(launch, manager)
        sibling = cls(launch, manager, manager.client(context=context), lifeline)
        try:
            await sibling._wait_until_ready()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await sibling.close()
            raise
        return sibling

    @property
    def is_alive(self) -> bool:
        """Whether the process is there."""
        return not self._closed and self._process.poll() is None

    @property
    def folder(self) -> Path:
        """Its own folder, which holds all that it can write."""
        return self._launch.folder

    def use(self, *, most: int, doubtful: float) -> TreeUse:
        """What its process tree uses; see `Census.take`."""
        return self._census.take(most=most, doubtful=doubtful)

    async def execute(self, code: str, *, timeout: float, collector: Collector) -> Ending:
        """Run code; outputs go to the collector. Cancelling ends the sibling."""
        if not self.is_alive:
            return Ending(note=self.end_reason or self._death())
        started = time.monotonic()
        request = _Request(self._client.execute(encodable(code), store_history=True, allow_stdin=False), collector)
        try:
            async with anyio.create_task_group() as readers:
                readers.start_soon(self._read_reply, request)
                readers.start_soon(self._read_outputs, request)
                readers.start_soon(self._watch, request)
                ending = await self._decide(request, timeout)
                readers.cancel_scope.cancel()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        ending.seconds = time.monotonic() - started
        ending.reply = request.reply or {}
        return ending

    async def end(self, reason: str) -> None:
        """Kill the process tree and remember why."""
        self.end_reason = self.end_reason or reason
        await self._census.end(root_follows=self._launch.supervised)
        with anyio.move_on_after(_REAP_SECONDS):
            while self._process.poll() is None:
                await anyio.sleep(_POLL_SECONDS)

    async def close(self) -> None:
        """End the tree and release sockets. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self.end("the branch was closed")
            os.close(self._lifeline)
            self._client.stop_channels()
            await self._manager.cleanup_resources()

    async def _wait_until_ready(self) -> None:
        self._client.start_channels(stdin=False, hb=False)
        with anyio.move_on_after(_START_SECONDS):
            while self.is_alive:
                with anyio.move_on_after(_ASK_AGAIN_SECONDS):
                    await self._handshake()
                    return
        raise KernelError(f"A sibling kernel did not start: {self._last_log_line()}")

    async def _handshake(self) -> None:
        """One question answered on both channels: outputs sent before a subscription is in place are lost."""
        asked = self._client.kernel_info()
        for get in (self._client.get_shell_msg, self._client.get_iopub_msg):
            while not ((message := await _get(get)) and message.request == asked):
                pass

    async def _decide(self, request: _Request, timeout: float) -> Ending:
        with anyio.move_on_after(timeout):
            await request.decided.wait()
        cause: Cause = request.cause or "timeout"
        if cause in ("timeout", "flooded"):
            request.stopping = True
            await self._stop(request)
        if cause == "died" or not self.is_alive:
            await anyio.sleep(_LAST_WORDS_SECONDS)
        return Ending(cause, note=self.end_reason or ("" if self.is_alive else self._death()))

    async def _stop(self, request: _Request) -> None:
        await self._manager.interrupt_kernel()
        with anyio.move_on_after(_GRACE_SECONDS):
            await request.ended.wait()
        if not request.ended.is_set():
            await self.end("it did not answer to an interrupt and its kernel was ended")

    async def _read_reply(self, request: _Request) -> None:
        while True:
            message = await _get(self._client.get_shell_msg)
            if message and message.request == request.id:
                request.reply = message.content
                request.touched = time.monotonic()
                request.finish_if_complete()
                return

    async def _read_outputs(self, request: _Request) -> None:
        while True:
            message = await _get(self._client.get_iopub_msg)
            if message and message.request == request.id:
                request.take(message.kind, message.content)

    async def _watch(self, request: _Request) -> None:
        while True:
            await anyio.sleep(_POLL_SECONDS)
            if not self.is_alive:
                request.decide("died")
                request.ended.set()
            elif request.reply is not None and time.monotonic() - request.touched > _LOST_IDLE_SECONDS:
                request.idle = True  # a flood makes sockets drop messages, and the last one may be among them
                request.finish_if_complete()

    def _death(self) -> str:
        return describe_exit(self._process.poll(), supervised=self._launch.supervised)

    def _last_log_line(self) -> str:
        with suppress(OSError):
            lines = (self._launch.folder / "log").read_text(errors="replace").strip().splitlines()
            if lines:
                return lines[-1]
        return "it gave no answer in time."


class _Request:
    """One execute request under way."""

    def __init__(self, id: str, collector: Collector) -> None:
        self.id, self.collector = id, collector
        self.decided, self.ended = anyio.Event(), anyio.Event()
        self.cause: Cause | None = None
        self.reply: dict[str, Any] | None = None
        self.idle = self.stopping = False
        self.touched = time.monotonic()

    def take(self, kind: str, content: dict[str, Any]) -> None:
        self.touched = time.monotonic()
        if kind == "status":
            self.idle = self.idle or content.get("execution_state") == "idle"
            self.finish_if_complete()
            return
        self.collector.add(kind, content)
        if self.collector.flooded and not self.stopping:
            self.decide("flooded")

    def finish_if_complete(self) -> None:
        if self.idle and self.reply is not None:
            self.decide("finished")
            self.ended.set()

    def decide(self, cause: Cause) -> None:
        self.cause = self.cause or cause
        self.decided.set()


class _OneKernel(KernelSpecManager):
    """Knows the one kernel that is to be started."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        # Signals do not reach through a process namespace, messages do.
        self._spec = KernelSpec(argv=list(argv), display_name="sibling", language="python", interrupt_mode="message")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self._spec


def _manager(launch: Launch, context: zmq.asyncio.Context) -> AsyncKernelManager:
    return AsyncKernelManager(
        kernel_name="sibling",
        kernel_spec_manager=_OneKernel(launch.command),
        transport="ipc",
        ip=str(launch.folder / "k"),
        connection_file=str(launch.folder / "c.json"),
        context=context,
    )


async def _launch(launch: Launch, manager: AsyncKernelManager) -> int:
    """Start the process; the descriptor that it is tied to (`inside.lifeline`) and that is never written to."""
    theirs, ours = os.pipe()
    try:
        with (launch.folder / "log").open("wb") as log:
            await manager.start_kernel(
                env=launch.environ, cwd=str(launch.cwd), stdin=theirs, stdout=subprocess.DEVNULL, stderr=log
            )
    except (OSError, RuntimeError) as error:
        os.close(ours)
        raise KernelError(f"A sibling kernel could not be started: {error}.") from error
    finally:
        os.close(theirs)
    return ours


async def _get(receive: Any) -> Message | None:
    """The next message; `None` for one that is not signed or not a message (code in the sibling can send anything)."""
    try:
        return understand(await receive(timeout=None))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def describe_exit(status: int | None, *, supervised: bool) -> str:
    """How a kernel process ended, in words. A supervisor reports signal `n` as status `128 + n`."""
    if status is None:
        return "the kernel is gone"
    number = -status if status < 0 else status - 128 if supervised and status > 128 else 0
    if number == signal.SIGXCPU:
        return "the kernel used up its CPU seconds and was ended"
    if number in set(signal.Signals):
        return f"the kernel process was ended by {signal.Signals(number).name}"
    return f"the kernel process exited with status {status}"
