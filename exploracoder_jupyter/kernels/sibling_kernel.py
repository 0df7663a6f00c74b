"""One sibling kernel, spawned or forked: runs code, is watched, and is ended with everything it started.

`Sibling.execute` waits for three things at once: the reply, the outputs, and the death of the process. The first event
decides: completion; a timeout or a flood of output (an interrupt, then the end of the tree); or death, which is
detected from the process rather than by waiting for an answer. Nothing that the code does raises here. The differences
between spawned and forked processes are in `SiblingProcess`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import anyio
import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernels.observing.message_validation import Message, parse_message
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.process_tree import TreeUsage
from exploracoder_jupyter.text.characters import encodable

Cause = Literal["finished", "timeout", "flooded", "died"]

_START_SECONDS: Final = 60.0
_HANDSHAKE_SECONDS: Final = (0.03, 0.04, 0.08, 0.2, 0.5)
_GRACE_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.05
_LOST_IDLE_SECONDS: Final = 2.0
_DRAIN_SECONDS: Final = 0.1


class SiblingProcess(Protocol):
    """The process of a sibling and everything that it started."""

    @property
    def is_alive(self) -> bool:
        """Whether the kernel's process is running."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder on disk with everything that it can write; `None` where its files are in limited memory."""
        ...

    def usage(self, *, max_processes: int, recount_above: float) -> TreeUsage:
        """Measure the process tree; see `Census.handle`."""
        ...

    def unshared_memory(self) -> int:
        """Bytes of memory that ending it would free, files in memory included. Slow for a large process."""
        ...

    async def end(self) -> None:
        """Kill every process of the tree and wait until they are gone."""
        ...

    async def release(self) -> None:
        """Close the resources kept for it here."""
        ...

    def describe_end(self) -> str:
        """Describe how it ended."""
        ...

    def start_failure(self) -> str:
        """Return the last line of output of a kernel that did not start."""
        ...


@dataclass(slots=True)
class ExecutionResult:
    """How an execution ended."""

    cause: Cause = "died"
    reply: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""


class Sibling:
    """A running kernel. `close` is idempotent and must be awaited."""

    def __init__(self, client: AsyncKernelClient, process: SiblingProcess) -> None:
        self._client, self.process = client, process
        self._closed = False
        self.end_reason = ""
        """Why the sibling was ended or died; empty while it lives."""

    @classmethod
    async def connect(cls, client: AsyncKernelClient, process: SiblingProcess) -> Sibling:
        """Return the sibling as soon as it answers; end it if it does not. Raises KernelError: it did not start; the
        message contains the last line of its log."""
        sibling = cls(client, process)
        try:
            await sibling._wait_until_ready()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await sibling.close()
            if isinstance(error, zmq.ZMQError):  # mostly: no free descriptors
                raise KernelError(f"A sibling kernel could not be reached: {error}.") from error
            raise
        return sibling

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return not self._closed and self.process.is_alive

    @property
    def folder(self) -> Path | None:
        """Its own folder on disk with everything that it can write; `None` if it has none."""
        return self.process.folder

    def usage(self, *, max_processes: int, recount_above: float) -> TreeUsage:
        """Measure its process tree; see `Census.handle`."""
        return self.process.usage(max_processes=max_processes, recount_above=recount_above)

    async def execute(self, code: str, *, timeout: float, collector: OutputCollector) -> ExecutionResult:
        """Run code; outputs are added to the collector. Cancelling ends the sibling."""
        if not self.is_alive:
            return ExecutionResult(note=self.end_reason or self.process.describe_end())
        started = time.monotonic()
        try:
            id_ = self._client.execute(  # `stop_on_error=False`: an error must not abort the requests sent after it
                encodable(code), store_history=True, allow_stdin=False, stop_on_error=False
            )
        except zmq.Again:
            await self.end("earlier code broke its connection, and its kernel was ended")
            return ExecutionResult(note=self.end_reason)
        request = _Request(id_, collector)
        try:
            async with anyio.create_task_group() as readers:
                readers.start_soon(self._read_reply, request)
                readers.start_soon(self._read_outputs, request)
                readers.start_soon(self._watch, request)
                result = await self._wait_for_end(request, timeout)
                readers.cancel_scope.cancel()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        result.seconds = time.monotonic() - started
        result.reply = request.reply or {}
        return result

    async def end(self, reason: str) -> None:
        """Kill the process tree and record why."""
        self.end_reason = self.end_reason or reason
        await self.process.end()

    async def close(self) -> None:
        """End the process tree and release sockets. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            try:
                with suppress(OSError):  # raised when descriptors run out: `release` below ends the process anyway
                    await self.end("the branch was closed")
            finally:
                self._client.stop_channels()
                await self.process.release()

    async def _wait_until_ready(self) -> None:
        self._client.start_channels(stdin=False, hb=False)
        for channel in (self._client.shell_channel, self._client.control_channel):
            channel.socket.sndtimeo = 0  # code in the sibling can break the connection: sending would block forever
        with anyio.move_on_after(scale_limit(_START_SECONDS)):
            intervals = iter(_HANDSHAKE_SECONDS)
            while self.is_alive:
                with anyio.move_on_after(next(intervals, _HANDSHAKE_SECONDS[-1])):
                    await self._handshake()
                    return
        raise KernelError(f"A sibling kernel did not start: {self.process.start_failure()}")

    async def _handshake(self) -> None:
        """Wait for one reply on both channels: outputs sent before a subscription is active are lost."""
        request_id = self._client.kernel_info()
        for get in (self._client.get_shell_msg, self._client.get_iopub_msg):
            while not ((message := await _receive_message(get)) and message.request == request_id):
                pass

    async def _wait_for_end(self, request: _Request, timeout: float) -> ExecutionResult:
        with anyio.move_on_after(timeout):
            await request.decided.wait()
        cause: Cause = request.cause or "timeout"
        if cause in ("timeout", "flooded"):
            request.is_stopping = True
            await self._interrupt(request)
        if cause == "died" or not self.is_alive:
            await anyio.sleep(_DRAIN_SECONDS)
        return ExecutionResult(cause, note=self.end_reason or ("" if self.is_alive else self.process.describe_end()))

    async def _interrupt(self, request: _Request) -> None:
        # Messages reach into a process namespace, signals do not.
        with suppress(zmq.Again):
            self._client.control_channel.send(self._client.session.msg("interrupt_request"))
        with anyio.move_on_after(scale_limit(_GRACE_SECONDS)):
            await request.ended.wait()
        if not request.ended.is_set():
            await self.end("it did not respond to an interrupt and its kernel was ended")

    async def _read_reply(self, request: _Request) -> None:
        while True:
            message = await _receive_message(self._client.get_shell_msg)
            if message and message.request == request.id:
                request.reply = message.content
                request.last_message_at = time.monotonic()
                request.finish_if_complete()
                return

    async def _read_outputs(self, request: _Request) -> None:
        while True:
            message = await _receive_message(self._client.get_iopub_msg)
            if message and message.request == request.id:
                request.handle(message.kind, message.content)

    async def _watch(self, request: _Request) -> None:
        while True:
            await anyio.sleep(_POLL_SECONDS)
            if not self.is_alive:
                request.set_cause("died")
                request.ended.set()
            elif request.reply is not None and time.monotonic() - request.last_message_at > _LOST_IDLE_SECONDS:
                request.idle = True  # a flood makes sockets drop messages, possibly the last one
                request.finish_if_complete()


class _Request:
    """An execute request in progress."""

    def __init__(self, id: str, collector: OutputCollector) -> None:
        self.id, self.collector = id, collector
        self.decided, self.ended = anyio.Event(), anyio.Event()
        self.cause: Cause | None = None
        self.reply: dict[str, Any] | None = None
        self.idle = self.is_stopping = False
        self.last_message_at = time.monotonic()

    def handle(self, kind: str, content: dict[str, Any]) -> None:
        self.last_message_at = time.monotonic()
        if kind == "status":
            self.idle = self.idle or content.get("execution_state") == "idle"
            self.finish_if_complete()
            return
        self.collector.add(kind, content)
        if self.collector.flooded and not self.is_stopping:
            self.set_cause("flooded")

    def finish_if_complete(self) -> None:
        if self.idle and self.reply is not None:
            self.set_cause("finished")
            self.ended.set()

    def set_cause(self, cause: Cause) -> None:
        self.cause = self.cause or cause
        self.decided.set()


async def _receive_message(receive: Any) -> Message | None:
    """Return the next message; `None` if it is unsigned or invalid (code in the sibling can send anything)."""
    try:
        return parse_message(await receive(timeout=None))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
