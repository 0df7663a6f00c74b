"""One remote sibling: a kernel on a server, prepared remotely, running code, interrupted, deleted.

It behaves like `sibling_kernel.Sibling` with other means. The server is asked every two seconds whether the kernel
still exists, and reports by itself when it has restarted a dead one; both mean that the state is lost. Interrupting and
ending the kernel are requests to the server.
"""

from __future__ import annotations

import ast
import base64
import json
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.messages import parse_message
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.remote.gateway import Gateway
from exploracoder_jupyter.kernels.remote.kernel_lifetime import CannotStart, KernelReaper
from exploracoder_jupyter.kernels.remote.remote_payload import Payload
from exploracoder_jupyter.kernels.sibling_kernel import AnySibling, ExecutionRequest, Watcher
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
_CHECK_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 5.0
_DELETE_SECONDS: Final = 15.0
_MAX_REPLY_BYTES: Final = 1 << 22
_MAX_MISSED_CHECKS: Final = 3
_LOST_IDLE_SECONDS: Final = 3.0
_OUTPUT_BUDGET: Final = 10_000
_DEAD: Final = frozenset(["restarting", "autorestarting", "dead"])
_GUEST: Final = "__import__('IPython').get_ipython().explora_guest"
_LOST: Final = "the connection to the remote kernel was lost"
_RESTARTED: Final = "the remote kernel ended; a kernel that the server started in its place has none of its state"


class RemoteSibling(AnySibling):
    """A running remote kernel. Created by `start`."""

    _grace_seconds = 2.0

    def __init__(self, gateway: Gateway, manager: GatewayKernelManager, reaper: KernelReaper) -> None:
        super().__init__()
        self._gateway, self._manager, self._reaper = gateway, manager, reaper
        self._channel: RemoteChannel | None = None
        self._deleting = False

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
            data, status, message = _unpack_answer(await self._run_internal("", wanted=f"{_GUEST}.{method}()"))
            if data:
                yield data
            elif status is not None:
                break
        if status != 0:
            raise KernelError(f"Reading the remote environment failed: {message}")

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
        """Delete the kernel and disconnect."""
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
            self._request.handle(parse_message(raw))

    def _mark_lost(self, why: str) -> None:
        self.end_reason = self.end_reason or why
        if self._request is not None:
            self._request.end("died")

    async def _send(self, code: str, *, silent: bool, wanted: str | None = None) -> str:
        """Send an execute request and return its id. Raises KernelError: the connection is lost."""
        assert self._channel is not None
        send = partial(
            self._channel.execute,
            code,
            silent=silent,
            store_history=not silent,
            user_expressions={"wanted": wanted} if wanted else {},
            allow_stdin=False,
            stop_on_error=False,  # an error must not abort the requests sent after it
        )
        try:
            return str(await to_thread.run_sync(send))
        except Exception as error:  # errors of the library and the system, and AttributeError from closed sockets
            self._mark_lost(_LOST)
            raise KernelError(f"{self._gateway.host}: {_LOST}.") from error

    async def _begin(self, request: ExecutionRequest, code: str, timeout: float) -> bool:
        try:
            await self._send(_expect(timeout), silent=True)
            request.begin(await self._send(encodable(code), silent=False))
        except KernelError:
            return False
        return True

    def _watchers(self) -> tuple[Watcher, ...]:
        return (self._watch,)

    async def _run_internal(self, code: str, *, wanted: str | None = None) -> dict[str, Any]:
        """Run our own code and return its reply. Raises KernelError: the code failed, or the kernel was lost."""
        request = self._request = ExecutionRequest(OutputCollector(_OUTPUT_BUDGET))
        try:
            request.begin(await self._send(code, silent=True, wanted=wanted))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, request)
                with anyio.move_on_after(_PREPARE_SECONDS):
                    await request.decided.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._request = None
        reply = request.reply or {}
        if request.cause != "finished" or reply.get("status") != "ok":
            error = f"{reply['ename']}: {reply.get('evalue', '')}" if reply.get("ename") else ""
            why = error or self.end_reason or "it did not answer in time"
            raise KernelError(f"A kernel of {self._gateway.host} could not be prepared: {why}.")
        return reply

    async def _send_interrupt(self) -> None:
        with suppress(Exception), anyio.move_on_after(_ANSWER_SECONDS):  # a failed request is handled like no answer
            await self._manager.interrupt_kernel()

    async def _watch(self, request: ExecutionRequest) -> None:
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
            else:
                request.finish_if_silent(_LOST_IDLE_SECONDS)


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


def _unpack_answer(reply: dict[str, Any]) -> tuple[bytes, int | None, str]:
    """Return an answer of `kernel_agent.adopted_kernel`: bytes, the exit status at the end, the last line of output."""
    try:
        text = reply["user_expressions"]["wanted"]["data"]["text/plain"]
        answer = json.loads(zlib.decompressobj().decompress(base64.b64decode(ast.literal_eval(text)), _MAX_REPLY_BYTES))
        return base64.b64decode(answer["data"]), answer["status"], str(answer["words"])
    except (KeyError, TypeError, ValueError, SyntaxError, zlib.error) as error:
        raise KernelError("The answer of the remote kernel cannot be read.") from error
