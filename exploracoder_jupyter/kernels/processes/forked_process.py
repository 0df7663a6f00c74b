"""The process of a forked sibling, and the channel to it. Used on Linux only."""

from __future__ import annotations

import array
import errno
import json
import os
import re
import select
import signal
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import anyio

from exploracoder_jupyter.kernel_agent.forking import process_fork
from exploracoder_jupyter.kernels.processes.process_tree import ProcessTree, TreeUsage, private_memory

# The engine's end of the socket to a branch; see `kernel_agent.forking.process_fork`.

_MAX_MESSAGE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BranchMessage:
    """One message from a branch."""

    content: dict[str, Any]
    pid: int
    """Process id of the sender, as this process sees it."""
    descriptors: tuple[int, ...]


class BranchChannel:
    """A message socket to one branch. Must be closed."""

    def __init__(self, ours: socket.socket) -> None:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.setblocking(False)
        self._socket = ours

    @classmethod
    def pair(cls) -> tuple[Self, socket.socket]:
        """Return a new channel and the socket of its other end."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ours), theirs

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message. Raises OSError: the other end is closed, or the message is too long."""
        process_fork.send(self._socket, message, descriptors)

    async def receive(self) -> BranchMessage:
        """Return the next message. Raises EOFError: the branch has ended, or sent something that is not a message."""
        while True:
            await anyio.wait_readable(self._socket)
            with suppress(BlockingIOError):
                ancillary = socket.CMSG_SPACE(struct.calcsize("3i")) + socket.CMSG_SPACE(8 * struct.calcsize("i"))
                return _parse_message(*self._socket.recvmsg(_MAX_MESSAGE_BYTES, ancillary, socket.MSG_CMSG_CLOEXEC)[:2])

    def close(self) -> None:
        """Close the channel, which also ends the branch."""
        self._socket.close()


def _parse_message(content: bytes, ancillary: Sequence[tuple[int, int, bytes]]) -> BranchMessage:
    pid, descriptors = 0, array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid = struct.unpack("3i", data)[0]
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        message = None
    if not isinstance(message, dict):
        for descriptor in descriptors:
            os.close(descriptor)
        raise EOFError
    return BranchMessage(message, pid, tuple(descriptors))


# The process of a forked sibling: its descriptors, its process tree, its end.
#
# The process of a branch has the processes of its descendants below it, each in its own process namespace. The
# first process of a namespace is a reaper, which ends when its socket to this process is closed. A branch that is
# closed while descendants live leaves only its reaper behind, until the last of them is closed.

_END_SECONDS: Final = 5.0


@dataclass(eq=False, slots=True)
class ForkedProcess:
    """A forked process."""

    channel: BranchChannel
    pid: int
    process: int
    """A pidfd of the process."""
    reaper_pidfd: int | None
    """A pidfd of the first process of its namespace, if it has one; killing that ends the namespace."""
    lifeline: int
    """The other end of the socket that the reaper reads."""
    home: Path
    """Folder of its own files, as the process sees it."""
    folder: Path | None
    """The same folder as seen from here; `None` where its files are in memory."""
    parent: ForkedProcess | None = None
    proc: int | None = None
    """The `/proc` that the first generation passes to its forks; see `kernel_agent.confinement.namespaces`."""
    loaded: tuple[str, ...] = ()
    """Libraries it started with that keep threads of their own, the likeliest to make a fork hang first."""
    children: set[ForkedProcess] = field(default_factory=set)
    reaper_pid: int | None = field(init=False)
    _census: ProcessTree = field(init=False)
    _base: int = field(init=False)
    _ending: anyio.Lock = field(default_factory=anyio.Lock)
    """The watchdog may end the process while its branch is being closed, and only one task can wait for a pidfd."""
    _ended: bool = False
    _released: bool = False
    _closed: bool = False

    def __post_init__(self) -> None:
        self.reaper_pid = None if self.reaper_pidfd is None else _pid_of(self.reaper_pidfd)
        self._census = ProcessTree(self.pid, adopter=self.reaper_pid, others=self._excluded)
        self._base = private_memory(self.pid)
        if self.parent is not None:
            self.parent.children.add(self)

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        if self._ended:
            return False
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        return not poll.poll(0)

    def usage(self, *, max_processes: int, shared: int, recount_above: float) -> TreeUsage:
        """Measure its process tree; memory counts beyond what the process had when it was forked."""
        recount_above += self._base
        use = self._census.measure(max_processes=max_processes, shared=shared, recount_above=recount_above)
        return TreeUsage(use.processes, max(0, use.memory - self._base))

    def unshared_memory(self) -> int:
        """Bytes of memory that ending it would free, including its files where they are in memory."""
        return self._census.unshared_memory() + self._files_in_memory()

    def deleted_bytes(self, device: int) -> int:
        """Bytes of files on this device that it has deleted and still uses."""
        return self._census.deleted_bytes(device)

    async def interrupt(self) -> None:
        """Do nothing: its kernel handles the message."""

    async def end(self) -> None:
        """Kill every process of the tree and wait until they are gone; forks of it live on."""
        async with self._ending:
            if not self._ended:
                await self._end()
                self._ended = True

    async def _end(self) -> None:
        if self.reaper_pidfd is not None and not self.children:
            _kill(self.reaper_pidfd)
            if self.parent is not None:  # the root is reaped by the system's init, at no particular time
                await self._wait_until_gone(self.reaper_pidfd)
        else:
            await self._census.end(root_follows=False)
        await self._wait_until_gone(self.process)

    async def release(self) -> None:
        """Close the descriptors kept for it here, as soon as no descendant needs them. Idempotent."""
        self._released = True
        self.channel.close()
        if self.children or self._closed:
            return
        self._closed = True
        if self.parent is not None:
            self.parent.children.discard(self)
        if self.reaper_pidfd is not None:
            _kill(self.reaper_pidfd)
            os.close(self.reaper_pidfd)
        if self.parent is None and self.proc is not None:
            os.close(self.proc)
        os.close(self.lifeline)
        os.close(self.process)
        if self.parent is not None and self.parent._released:
            await self.parent.release()

    def describe_end(self) -> str:
        """How it ended; its exit status is not available to this process."""
        return "the kernel process ended"

    def start_failure(self) -> str:
        """Why a kernel that did not answer failed to start."""
        return "the fork did not answer in time."

    def _files_in_memory(self) -> int:
        if self.folder is not None:
            return 0
        try:
            found = os.statvfs(f"/proc/{self.pid}/root{self.home}")
        except OSError:  # it is gone
            return 0
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _excluded(self) -> Iterator[int]:
        """Yield the processes forked from it and the first processes of their namespaces."""
        for child in self.children:
            yield child.pid
            if child.reaper_pid is not None:
                yield child.reaper_pid

    async def _wait_until_gone(self, process: int) -> None:
        with anyio.move_on_after(_END_SECONDS):
            await anyio.wait_readable(process)


def _pid_of(process: int) -> int:
    """Return the process id of a pidfd, as this process sees it. Raises OSError: the descriptor does not refer to a
    living process."""
    found = re.search(
        r"^Pid:\s*([1-9]\d*)", Path(f"/proc/self/fdinfo/{process}").read_text(encoding="utf-8"), re.MULTILINE
    )
    if found is None:
        raise OSError(errno.ESRCH, "not a descriptor of a living process")
    return int(found[1])


def _kill(process: int) -> None:
    with suppress(OSError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
