"""One remote sibling: a kernel on a server, prepared remotely, running code, interrupted, deleted.

It behaves like `sibling_kernel.Sibling` with other means. The server is asked every two seconds whether the kernel
still exists, and reports by itself when it has restarted a dead one; both mean that the state is lost. Interrupting and
ending the kernel are requests to the server.
"""

from __future__ import annotations

import ast
import base64
import json
import time
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.observing.message_validation import parse_message
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.remote.gateway import Gateway
from exploracoder_jupyter.kernels.remote.kernel_reaper import CannotStart, KernelReaper
from exploracoder_jupyter.kernels.remote.remote_payload import Payload
from exploracoder_jupyter.kernels.sibling_kernel import Cause, ExecutionResult
from exploracoder_jupyter.text.characters import encodable

if TYPE_CHECKING:
    from jupyter_server.gateway.managers import GatewayKernelManager

    from exploracoder_jupyter.kernels.remote.remote_channel import RemoteChannel

SILENCE_LIMIT_SECONDS: Final = 600.0
"""A remote kernel ends itself after this silence, added to the time that it was asked to expect."""

_CONNECT_ATTEMPTS: Final = 4
_CONNECT_PAUSE: Final = 0.5
"""In seconds."""
_PREPARE_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 2.0
_CHECK_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 5.0
_DELETE_SECONDS: Final = 15.0
_MAX_REPLY_BYTES: Final = 1 << 22
_MAX_MISSED_CHECKS: Final = 3
_LOST_IDLE_SECONDS: Final = 3.0
_DRAIN_SECONDS: Final = 0.1
_OUTPUT_BUDGET: Final = 10_000
_DEAD: Final = frozenset(["restarting", "autorestarting", "dead"])
_GUEST: Final = "__import__('IPython').get_ipython().explora_guest"
_LOST: Final = "the connection to the remote kernel was lost"
_RESTARTED: Final = "the remote kernel ended; a kernel that the server started in its place has none of its state"


class RemoteSibling:
    """A running remote kernel. Created by `start`; `close` is idempotent and must be awaited."""

    def __init__(self, gateway: Gateway, manager: GatewayKernelManager, reaper: KernelReaper) -> None:
        self._gateway, self._manager, self._reaper = gateway, manager, reaper
        self._channel: RemoteChannel | None = None
        self._request: _Request | None = None
        self._closed = self._deleting = False
        self.end_reason = ""
        """Why the sibling was ended or died; empty while it lives."""

    @classmethod
    async def start(cls, gateway: Gateway, payload: Payload, reaper: KernelReaper) -> RemoteSibling:
        """Start a kernel and prepare it as a sibling. Raises KernelError: it did not start, cannot be reached, or could
        not be prepared."""
        with anyio.CancelScope(shield=True):  # a cancellation in here would leave a kernel that nothing deletes
            try:
                manager = await gateway.connect_manager(await reaper.start())
            except CannotStart as error:
                raise KernelError(f"{gateway.host} did not start a kernel: {error}.") from error
        sibling = cls(gateway, manager, reaper)
        try:
            await sibling._connect()
            for code in payload.code():
                await sibling._run_internal(code)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await sibling.close()
            raise
        return sibling

    @property
    def is_alive(self) -> bool:
        """Whether the kernel is running, as far as is known."""
        return not self._closed and not self.end_reason

    async def execute(self, code: str, *, timeout: float, collector: OutputCollector) -> ExecutionResult:
        """Run code; outputs are added to the collector. Cancelling ends the sibling."""
        started = time.monotonic()
        request = _Request(collector)
        try:
            result = await self._execute(request, code, timeout)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        finally:
            self._request = None
        result.seconds = time.monotonic() - started
        result.reply = request.reply or {}
        return result

    async def notify_alive(self) -> None:
        """Notify an idle kernel that the run is still active."""
        if self.is_alive and self._request is None:
            with suppress(KernelError):
                await self._send(_expect(0.0), silent=True)

    async def run_program(self, module: str, arguments: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """Run a module of `kernel_agent` as a program next to the kernel; yields its output as it arrives. Raises
        KernelError: the program failed, with its last line of output, or the kernel was lost."""
        await self._run_internal(f"{_GUEST}.start({module!r}, {list(arguments)!r})")
        async with aclosing(self._read_chunks("read")) as chunks:
            async for chunk in chunks:
                yield chunk

    async def fetch_written(self, max_bytes: int) -> bytes:
        """Return the files written in its working directory, at most `max_bytes` bytes, as a compressed tar archive.
        Raises KernelError: the kernel was lost."""
        await self._run_internal(f"{_GUEST}.pack({max_bytes})")
        archive = bytearray()
        async with aclosing(self._read_chunks("fetch")) as chunks:
            async for chunk in chunks:
                archive += chunk
                if len(archive) > max_bytes + _MAX_REPLY_BYTES:  # cells may have modified our code: it may never end
                    break
        return bytes(archive)

    async def _read_chunks(self, method: str) -> AsyncGenerator[bytes, None]:
        """Yield what the method of `explora_guest` returns until it reports the end. Uses replies, because servers
        limit the bytes per second of outputs but not of replies."""
        while True:
            answer = _unpack_answer(await self._run_internal("", wanted=f"{_GUEST}.{method}()"))
            if answer.data:
                yield answer.data
            elif answer.status is not None:
                break
        if answer.status != 0:
            raise KernelError(f"Reading the remote environment failed: {answer.message}")

    async def end(self, reason: str) -> None:
        """Ask the server to delete the kernel, and record why. If that fails, the reaper retries when the run ends."""
        self.end_reason = self.end_reason or reason
        if self._deleting:
            return
        self._deleting = True
        with suppress(Exception), anyio.move_on_after(_DELETE_SECONDS):  # if it fails, the reaper deletes the kernel
            await self._manager.shutdown_kernel()
            self._reaper.mark_deleted(str(self._manager.kernel_id))

    async def close(self) -> None:
        """Delete the kernel and disconnect. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self.end("the branch was closed")
            if self._channel is not None:
                await to_thread.run_sync(self._channel.close)

    async def _connect(self) -> None:
        from exploracoder_jupyter.kernels.remote.remote_channel import RemoteChannel, is_temporary

        self._channel = RemoteChannel(self._gateway, self._manager, self._on_message)
        for attempt in range(1, _CONNECT_ATTEMPTS + 1):
            try:
                return await to_thread.run_sync(self._channel.open)
            except Exception as error:
                if attempt == _CONNECT_ATTEMPTS or not is_temporary(error):
                    raise KernelError(f"No connection to a kernel of {self._gateway.host}: {error}.") from error
            await anyio.sleep(_CONNECT_PAUSE)

    def _on_message(self, raw: dict[str, Any] | None) -> None:
        if raw is None:
            self._mark_lost(_LOST)
        elif _reports_death(raw):
            self._mark_lost(_RESTARTED)
        elif self._request is not None:
            self._request.handle(raw)

    def _mark_lost(self, why: str) -> None:
        self.end_reason = self.end_reason or why
        if self._request is not None:
            self._request.set_cause("died")
            self._request.ended.set()

    async def _send(self, code: str, *, silent: bool, wanted: str | None = None) -> str:
        """Send an execute request and return its id. Raises KernelError: the connection is lost."""
        channel = self._channel
        assert channel is not None

        def send() -> str:
            expressions = {"wanted": wanted} if wanted else {}
            return str(
                channel.execute(  # `stop_on_error=False`: an error must not abort the requests sent after it
                    code,
                    silent=silent,
                    store_history=not silent,
                    user_expressions=expressions,
                    allow_stdin=False,
                    stop_on_error=False,
                )
            )

        try:
            return await to_thread.run_sync(send)
        except Exception as error:  # errors of the library and the system, and AttributeError from closed sockets
            self._mark_lost(_LOST)
            raise KernelError(f"{self._gateway.host}: {_LOST}.") from error

    async def _execute(self, request: _Request, code: str, timeout: float) -> ExecutionResult:
        if not self.is_alive:
            return ExecutionResult(note=self.end_reason)
        self._request = request
        try:
            await self._send(_expect(timeout), silent=True)
            request.begin(await self._send(encodable(code), silent=False))
        except KernelError:
            return ExecutionResult(note=self.end_reason)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, request)
            result = await self._wait_for_end(request, timeout)
            tasks.cancel_scope.cancel()
        return result

    async def _run_internal(self, code: str, *, wanted: str | None = None) -> dict[str, Any]:
        """Run our own code and return its reply. Raises KernelError: the code failed, or the kernel was lost."""
        request = self._request = _Request(OutputCollector(_OUTPUT_BUDGET))
        try:
            request.begin(await self._send(code, silent=True, wanted=wanted))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, request)
                with anyio.move_on_after(_PREPARE_SECONDS):
                    await request.decided.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._request = None
        if request.cause != "finished" or (request.reply or {}).get("status") != "ok":
            raise KernelError(
                f"A kernel of {self._gateway.host} could not be prepared: {self._failure_reason(request)}."
            )
        return request.reply or {}

    def _failure_reason(self, request: _Request) -> str:
        reply = request.reply or {}
        if reply.get("ename"):
            return f"{reply['ename']}: {reply.get('evalue', '')}"
        return self.end_reason or "it did not answer in time"

    async def _wait_for_end(self, request: _Request, timeout: float) -> ExecutionResult:
        with anyio.move_on_after(timeout):
            await request.decided.wait()
        cause: Cause = request.cause or "timeout"
        if cause in ("timeout", "flooded"):
            request.is_stopping = True
            await self._interrupt(request)
        if cause == "died":
            await anyio.sleep(_DRAIN_SECONDS)
            await self.end(self.end_reason)
        return ExecutionResult(cause, note=self.end_reason)

    async def _interrupt(self, request: _Request) -> None:
        with suppress(Exception), anyio.move_on_after(_ANSWER_SECONDS):  # a failed request is handled like no answer
            await self._manager.interrupt_kernel()
        with anyio.move_on_after(_GRACE_SECONDS):
            await request.ended.wait()
        if not request.ended.is_set():
            await self.end("it did not respond to an interrupt and its kernel was ended")

    async def _watch(self, request: _Request) -> None:
        """Ask the server about the kernel regularly; finish a request whose last message was lost."""
        missed = 0
        while True:
            await anyio.sleep(_CHECK_SECONDS)
            try:
                with anyio.fail_after(_ANSWER_SECONDS):
                    state = await self._gateway.kernel_state(self._manager)
                missed = 0
            except (KernelError, TimeoutError):
                missed += 1
                if missed == _MAX_MISSED_CHECKS:
                    self._mark_lost(f"{_LOST}: {self._gateway.host} does not answer")
                continue
            if state is None:
                self._mark_lost("the server no longer has this kernel")
            elif state in _DEAD:
                self._mark_lost(_RESTARTED)
            elif request.reply is not None and time.monotonic() - request.last_message_at > _LOST_IDLE_SECONDS:
                request.finish()


class _Request:
    """An execute request in progress."""

    def __init__(self, collector: OutputCollector) -> None:
        self.id, self.collector = "", collector
        self.decided, self.ended = anyio.Event(), anyio.Event()
        self.cause: Cause | None = None
        self.reply: dict[str, Any] | None = None
        self.idle = self.is_stopping = False
        self.last_message_at = time.monotonic()
        self._early: list[dict[str, Any]] = []

    def begin(self, id: str) -> None:
        """Set the id under which the request was sent, and handle answers that arrived before."""
        self.id = id
        for raw in self._early:
            self.handle(raw)
        self._early.clear()

    def handle(self, raw: dict[str, Any]) -> None:
        if not self.id:
            self._early.append(raw)
            return
        message = parse_message(raw)
        if message is None or message.request != self.id:
            return
        self.last_message_at = time.monotonic()
        if message.kind == "execute_reply":
            self.reply = message.content
        elif message.kind == "status":
            self.idle = self.idle or message.content.get("execution_state") == "idle"
        else:
            self.collector.add(message.kind, message.content)
        if self.idle and self.reply is not None:
            self.finish()
        elif self.collector.flooded and not self.is_stopping:
            self.set_cause("flooded")

    def finish(self) -> None:
        self.set_cause("finished")
        self.ended.set()

    def set_cause(self, cause: Cause) -> None:
        self.cause = self.cause or cause
        self.decided.set()


def _expect(seconds: float) -> str:
    return f"{_GUEST}.expect({seconds + SILENCE_LIMIT_SECONDS})"


def _reports_death(raw: dict[str, Any]) -> bool:
    """Whether the server reports that the kernel died; unlike messages of code in the kernel, it has no parent."""
    content = raw.get("content")
    return (
        raw.get("msg_type") == "status"
        and not raw.get("parent_header")
        and isinstance(content, dict)
        and content.get("execution_state") in _DEAD
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer packed by `kernel_agent.adopted_kernel`."""

    data: bytes
    status: int | None
    message: str


def _unpack_answer(reply: dict[str, Any]) -> _Answer:
    try:
        text = reply["user_expressions"]["wanted"]["data"]["text/plain"]
        answer = json.loads(zlib.decompressobj().decompress(base64.b64decode(ast.literal_eval(text)), _MAX_REPLY_BYTES))
        return _Answer(base64.b64decode(answer["data"]), answer["status"], str(answer["words"]))
    except (KeyError, TypeError, ValueError, SyntaxError, zlib.error) as error:
        raise KernelError("The answer of the remote kernel cannot be read.") from error
