"""Makes forks: sends a process its order, waits until the child says that it is ready, connects to its kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient

from exploracoder_jupyter.errors import KernelError, unwrapped
from exploracoder_jupyter.execution.forked import Forked
from exploracoder_jupyter.execution.kernel import Sibling
from exploracoder_jupyter.execution.line import Heard, Line, Listener
from exploracoder_jupyter.execution.order import Order, Orders

_SECONDS: Final = 20.0
_PORTS: Final = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")

Ask = Callable[[str], Coroutine[Any, Any, None]]
"""Asks a kernel that is not confined to fork itself; the child calls at this address."""


class ForkRefused(KernelError):
    """This state cannot be forked: a kernel says so of itself, or its forks hang."""

    def __init__(self, why: str, *, library: str = "") -> None:
        """`why` is a clause; `library` is to blame, if one is."""
        super().__init__(f"This state cannot be forked: {why}.")
        self.why, self.library = why, library


@dataclass(slots=True)
class Forker:
    """Makes the forks of one run."""

    orders: Orders
    context: zmq.asyncio.Context
    suspects: list[str] = field(default_factory=list)
    """Libraries whose forks have hung before: a kernel that has one loaded is not forked."""
    notes: list[str] = field(default_factory=list)
    """What the root has not got of the kernel that it was forked from, a clause each."""
    _serial: count[int] = field(default_factory=lambda: count(1))

    async def root(self, ask: Ask, *, chdir: Path | None) -> Forked:
        """The first fork, which is confined and only forked itself.

        Raises:
            KernelError: it could not be made.
        """
        listener = Listener(self.orders.launcher.folder / "call")
        try:
            with anyio.fail_after(_SECONDS):
                async with anyio.create_task_group() as asking:
                    asking.start_soon(ask, str(listener.address))
                    line = await listener.accept()
                    root = await self._made(line, self.orders.root(chdir=chdir), parent=None)
        except TimeoutError as error:
            raise KernelError("The kernel was asked to fork itself and did not answer.") from error
        except BaseExceptionGroup as group:
            raise unwrapped(group) from None
        finally:
            listener.close()
        return root

    async def branch(self, parent: Forked) -> Sibling:
        """A kernel that starts from exactly the state of the parent. Cancelling leaves nothing behind.

        Raises:
            ForkRefused: the parent says that it cannot be forked.
            KernelError: it could not be made.
        """
        order = self.orders.branch(next(self._serial), parent.home)
        body = await self.child(parent, order)
        return await Sibling.connected(self._client(order, body), body)

    async def child(self, parent: Forked, order: Order) -> Forked:
        """A fork of the parent that carries out the order. Raises like `branch`."""
        ours, theirs = Line.pair()
        try:
            request = {"ask": "fork", "check": parent.parent is not None, "suspects": self.suspects}
            parent.line.send(request, [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise KernelError("The state that was to be branched is gone.") from error
        finally:
            theirs.close()
        return await self._made(ours, order, parent=parent)

    async def _made(self, line: Line, order: Order, *, parent: Forked | None) -> Forked:
        """The process that was forked, once it says that it is ready."""
        theirs, ours = os.pipe()
        try:
            try:
                line.send(order, [theirs])
            finally:
                os.close(theirs)
            with anyio.fail_after(_SECONDS):
                heard = _agreed(await line.receive())
            home = self.orders.home_of(order)
            on_disk = None if self.orders.level.name == "namespaces" else home
            body = Forked.of(heard, line, ours, home=home, folder=on_disk, parent=parent)
        except (EOFError, OSError, TimeoutError) as error:
            _let_go(line, ours)
            raise KernelError("A kernel could not be forked: the child gave no answer.") from error
        except BaseException:
            _let_go(line, ours)
            raise
        if parent is None:
            self.notes = [str(note) for note in heard.content.get("notes", [])]
        return body

    def _client(self, order: Order, body: Forked) -> AsyncKernelClient:
        connection = order["connection"]
        client = AsyncKernelClient(context=self.context)
        client.transport = "ipc"
        client.ip = seen_from_here(connection["ip"], body)
        for name in _PORTS:
            setattr(client, name, connection[name])
        client.session.key = connection["key"].encode()
        return client


def _agreed(heard: Heard) -> Heard:
    """What was heard, unless that is a refusal."""
    if "refused" in heard.content:
        raise ForkRefused(str(heard.content["refused"]), library=str(heard.content.get("library", "")))
    if "error" in heard.content:
        raise KernelError(f"A kernel could not be forked: {_last_line(str(heard.content['error']))}")
    return heard


def _let_go(line: Line, lifeline: int) -> None:
    """Nobody holds the child any more: it ends."""
    os.close(lifeline)
    line.close()


def seen_from_here(path: str, body: Forked) -> str:
    """A path of the branch as a path of this process."""
    return path if body.folder is not None else f"/proc/{body.pid}/root{path}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
