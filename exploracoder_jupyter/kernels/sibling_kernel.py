"""One sibling kernel: it runs code, is watched, is ended with everything it started, and tells what was observed."""

from __future__ import annotations

import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import anyio
import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import ErrorInfo, Observation, Status
from exploracoder_jupyter.kernels.messages import (
    Message,
    parse_message,
    schema_text,
    short_traceback,
    shown_text,
    without_model_texts,
)
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.sandbox.views import VisibleFiles
from exploracoder_jupyter.text.characters import encodable, strip_ansi

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
    from exploracoder_jupyter.kernels.processes.processes import SpawnedProcess


# One sibling kernel: runs code, is watched, and is ended with everything it started.
#
# `AnySibling.execute` waits at once for the reply, the outputs and the death of the kernel. The first event
# decides: completion; a timeout or a flood of output (an interrupt, then the end of the kernel); or death, which
# `Sibling` detects from the process rather than by waiting for an answer. Nothing that the code does raises here. A
# kernel on another machine is a `remote_sibling.RemoteSibling`.

Cause = Literal["finished", "timeout", "flooded", "died"]

_START_SECONDS: Final = 60.0
_HANDSHAKE_SECONDS: Final = (0.03, 0.04, 0.08, 0.2, 0.5)
_POLL_SECONDS: Final = 0.05
_DRAIN_SECONDS: Final = 0.1
_END_SECONDS: Final = 2.0


@dataclass(slots=True)
class ExecutionResult:
    """How an execution ended."""

    cause: Cause = "died"
    reply: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""


class ExecutionRequest:
    """An execute request in progress. Answers that arrive before its `id` is known wait for `begin`."""

    def __init__(self, collector: OutputCollector) -> None:
        self.id, self.collector = "", collector
        self.decided, self.ended = anyio.Event(), anyio.Event()
        self.cause: Cause | None = None
        self.reply: dict[str, Any] | None = None
        self.is_stopping = False
        self._idle = False
        self._last_message_at = time.monotonic()
        self._early: list[Message] = []

    def begin(self, id: str) -> None:
        """Set the id under which the request was sent."""
        self.id = id
        for message in self._early:
            self.handle(message)
        self._early.clear()

    def handle(self, message: Message | None) -> None:
        """Take in a message of the kernel; invalid ones (`None`) and those about other requests are ignored."""
        if message is not None and not self.id:
            self._early.append(message)
        elif message is not None and message.request == self.id:
            self._last_message_at = time.monotonic()
            if message.kind == "execute_reply":
                self.reply = message.content
            elif message.kind == "status":
                self._idle = self._idle or message.content.get("execution_state") == "idle"
            else:
                self.collector.add(message.kind, message.content)
            if self._idle and self.reply is not None:
                self.end("finished")
            elif self.collector.flooded and not self.is_stopping:
                self._decide("flooded")

    def finish_if_silent(self, seconds: float) -> None:
        """Finish a request that was replied to and is silent since: a flood makes sockets drop messages, possibly the
        last one."""
        if self.reply is not None and time.monotonic() - self._last_message_at > seconds:
            self.end("finished")

    def end(self, cause: Cause) -> None:
        """Record that nothing more will arrive."""
        self._decide(cause)
        self.ended.set()

    def _decide(self, cause: Cause) -> None:
        self.cause = self.cause or cause
        self.decided.set()


Watcher = Callable[[ExecutionRequest], Coroutine[Any, Any, None]]
"""What runs while a request is in progress, until cancelled."""


class AnySibling(ABC):
    """A running kernel other than the user's. `close` is idempotent and must be awaited."""

    _grace_seconds: ClassVar[float]
    """How long code may take to react to an interrupt."""

    def __init__(self) -> None:
        self._closed = False
        self._request: ExecutionRequest | None = None
        self.end_reason = ""
        """Why the sibling was ended or died; empty while it lives."""

    @property
    @abstractmethod
    def is_alive(self) -> bool:
        """Whether code can be run in it, as far as is known."""

    async def execute(self, code: str, *, timeout: float, collector: OutputCollector) -> ExecutionResult:
        """Run code; outputs are added to the collector. Cancelling ends the sibling."""
        started = time.monotonic()
        request = self._request = ExecutionRequest(collector)
        try:
            if self.is_alive and await self._begin(request, code, timeout):
                async with anyio.create_task_group() as tasks:
                    for watch in self._watchers():
                        tasks.start_soon(watch, request)
                    result = await self._wait_for_end(request, timeout)
                    tasks.cancel_scope.cancel()
            else:
                result = ExecutionResult(note=self.end_reason or self._describe_end())
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        finally:
            self._request = None
        result.seconds = time.monotonic() - started
        result.reply = request.reply or {}
        return result

    @abstractmethod
    async def end(self, reason: str) -> None:
        """End the kernel with everything that it started, and record why."""

    @abstractmethod
    async def close(self) -> None:
        """End the kernel and release its local resources."""

    @abstractmethod
    async def _begin(self, request: ExecutionRequest, code: str, timeout: float) -> bool:
        """Send the request; false if the sibling ends instead."""

    @abstractmethod
    def _watchers(self) -> tuple[Watcher, ...]: ...

    @abstractmethod
    async def _send_interrupt(self) -> None: ...

    def _describe_end(self) -> str:
        return ""

    async def _wait_for_end(self, request: ExecutionRequest, timeout: float) -> ExecutionResult:
        with anyio.move_on_after(timeout):
            await request.decided.wait()
        cause: Cause = request.cause or "timeout"
        if cause in ("timeout", "flooded"):
            request.is_stopping = True
            await self._send_interrupt()
            with anyio.move_on_after(scale_limit(self._grace_seconds)):
                await request.ended.wait()
            if not request.ended.is_set():
                await self.end("it did not respond to an interrupt and its kernel was ended")
        if cause == "died" or not self.is_alive:
            await anyio.sleep(_DRAIN_SECONDS)
            with suppress(OSError):  # raised when descriptors run out; `close` ends what is left
                await self.end(self.end_reason or self._describe_end())
        return ExecutionResult(cause, note=self.end_reason)


class Sibling(AnySibling):
    """A sibling on this machine. Differences between spawned and forked ones are in their process."""

    _grace_seconds = 1.0
    _lost_idle_seconds = 2.0

    def __init__(self, client: AsyncKernelClient, process: ForkedProcess | SpawnedProcess) -> None:
        super().__init__()
        self._client, self.process = client, process

    @classmethod
    async def connect(cls, client: AsyncKernelClient, process: ForkedProcess | SpawnedProcess) -> Sibling:
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

    async def end(self, reason: str) -> None:
        """Kill the process tree and record why."""
        self.end_reason = self.end_reason or reason
        await self.process.end()

    async def close(self) -> None:
        """End the process tree and release sockets."""
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

    async def _begin(self, request: ExecutionRequest, code: str, timeout: float) -> bool:
        try:
            id_ = self._client.execute(  # `stop_on_error=False`: an error must not abort the requests sent after it
                encodable(code), store_history=True, allow_stdin=False, stop_on_error=False
            )
        except zmq.Again:
            await self.end("earlier code broke its connection, and its kernel was ended")
            return False
        request.begin(id_)
        return True

    def _watchers(self) -> tuple[Watcher, ...]:
        return self._read_reply, self._read_outputs, self._watch

    def _describe_end(self) -> str:
        return self.process.describe_end()

    async def _send_interrupt(self) -> None:
        # Messages reach into a process namespace, signals do not.
        await self.process.interrupt()
        with suppress(zmq.Again):
            self._client.control_channel.send(self._client.session.msg("interrupt_request"))

    async def _read_reply(self, request: ExecutionRequest) -> None:
        while request.reply is None:
            request.handle(await _receive_message(self._client.get_shell_msg))

    async def _read_outputs(self, request: ExecutionRequest) -> None:
        while True:
            request.handle(await _receive_message(self._client.get_iopub_msg))

    async def _watch(self, request: ExecutionRequest) -> None:
        while True:
            await anyio.sleep(_POLL_SECONDS)
            if not self.is_alive:
                request.end("died")
            else:
                request.finish_if_silent(self._lost_idle_seconds)


@contextmanager
def open_context() -> Iterator[zmq.asyncio.Context]:
    """Yield a ZeroMQ context, whose sockets are closed at the end. Gives up after two seconds: with an incomplete
    socket, as when descriptors run out, terminating would wait forever."""
    context = zmq.asyncio.Context()
    try:
        yield context
    finally:
        ending = threading.Thread(target=context.destroy, kwargs={"linger": 0}, daemon=True, name="end-of-context")
        ending.start()
        ending.join(_END_SECONDS)


async def _receive_message(receive: Any) -> Message | None:
    """Return the next message; `None` if it is unsigned or invalid (code in the sibling can send anything)."""
    try:
        return parse_message(await receive(timeout=None))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


# Builds the `Observation` that the pipeline sees from how an execution ended and what it printed.

_PATH: Final = re.compile(r"""(?<![^\s(=:,\[])['"]([^'"\n\0]+)['"]""")
_MAX_CHARACTERS, _MAX_PATHS = 4000, 5
_HIDDEN_FILE_NOTE: Final = (
    "that file exists, but experiments cannot see it: in the home folder they see only this project, "
    "without what looks like credentials; the option --allow-read PATH makes more visible"
)


def build_observation(result: ExecutionResult, collector: OutputCollector, *, timeout: float) -> Observation:
    """Build the observation of one execution that was given `timeout` seconds."""
    status, note, error = _describe_end(result, collector, timeout)
    outputs, after = collector.outputs(), collector.outcome
    if error is not None:
        report, schema, nearest = after.failure
        error = replace(error, report=report, schema=schema, nearest=nearest)
    return Observation(
        status=status,
        outputs=tuple(map(without_model_texts, outputs)),
        error=error,
        text=shown_text(outputs),
        seconds=result.seconds,
        names=after.names,
        note=note,
        changes=after.changes,
        schema=schema_text(outputs),
        warnings=after.warnings,
        logs=after.logs,
        files=after.files,
        memory=after.memory,
    )


def add_hidden_file_note(observation: Observation, files: VisibleFiles | None) -> Observation:
    """Add a note to the observation where its error names a file of the user that experiments cannot see.

    The note does not repeat the path, because not everything the user sees may be sent to the model.
    """
    if files is None or observation.status != "error" or observation.error is None:
        return observation
    named = islice(_PATH.findall(observation.error.message[:_MAX_CHARACTERS]), _MAX_PATHS)
    if not any(files.covers(path) for path in named):
        return observation
    return replace(observation, note=_join_notes(_HIDDEN_FILE_NOTE, observation.note))


def state_lost_observation(why: str) -> Observation:
    """Return the observation of code that could not run because its state is lost."""
    return Observation("died", error=ErrorInfo("StateLost", why), note=why)


def _describe_end(
    result: ExecutionResult, collector: OutputCollector, timeout: float
) -> tuple[Status, str, ErrorInfo | None]:
    """Return the status, the note and the error."""
    reply, at = result.reply, collector.error.traceback if collector.error else ""
    match result.cause:
        case "timeout":
            note = _join_notes(f"did not finish within {timeout:g} s", result.note)
            return "timeout", note, ErrorInfo("Timeout", note, at)
        case "flooded":
            note = _join_notes(f"printed {collector.received:,} characters and was stopped", result.note)
            return "interrupted", note, ErrorInfo("OutputLimit", note, at)
    asked = any(isinstance(item, dict) and item.get("source") == "ask_exit" for item in reply.get("payload") or [])
    if asked or result.cause == "died":  # a kernel that was asked to exit may be seen to die before its last message
        note = "the code asked the kernel to exit" if asked else result.note
        return "died", note, ErrorInfo("KernelDied", note, at)
    note = f"{collector.cut:,} characters of output were cut" if collector.cut else ""
    if reply.get("status") == "ok":
        return "ok", note, None
    frames = [str(frame) for frame in reply.get("traceback") or []]
    name = str(reply.get("ename") or reply.get("status") or "Error")
    replied = ErrorInfo(name, strip_ansi(str(reply.get("evalue", ""))), short_traceback(frames))
    return "error", note, collector.error or replied


def _join_notes(what: str, more: str) -> str:
    return f"{what}; {more}" if more else what
