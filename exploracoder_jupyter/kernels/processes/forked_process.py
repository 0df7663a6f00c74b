"""A sibling's process that was forked: its descriptors, its tree, its end.

The process of a branch has the processes of its descendants below it, in their own process namespaces, each of which
begins with a reaper that ends with a socket from here. A branch that is closed while descendants live leaves its reaper
behind, and nothing else, until the last of them is closed.
"""

from __future__ import annotations

import errno
import os
import re
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from exploracoder_jupyter.kernels.branching.branch_channel import Line
from exploracoder_jupyter.kernels.processes.process_tree import Census, TreeUse, private_memory

_END_SECONDS: Final = 5.0


@dataclass(eq=False, slots=True)
class Forked:
    """A forked process. See `sibling_kernel.Body`."""

    line: Line
    pid: int
    process: int
    """A descriptor of the process."""
    reaper: int | None
    """A descriptor of the first process of its namespace, if it has one; the namespace ends with it."""
    lifeline: int
    """The other end of the socket that the reaper reads."""
    home: Path
    """Its own files, as it sees them."""
    folder: Path | None
    """The same as seen from here, where they are on disk."""
    parent: Forked | None = None
    proc: int | None = None
    """Of the first generation, for its forks: see `kernel_agent.confinement.confine`."""
    loaded: tuple[str, ...] = ()
    """Libraries it came with that keep threads of their own, the likeliest to make a fork hang first."""
    children: set[Forked] = field(default_factory=set)
    reaper_pid: int | None = field(init=False)
    _census: Census = field(init=False)
    _base: int = field(init=False)
    _ending: anyio.Lock = field(default_factory=anyio.Lock)
    """The guard may end it while its branch is being closed, and only one can wait for a descriptor."""
    _ended: bool = False
    _released: bool = False
    _let_go: bool = False

    def __post_init__(self) -> None:
        self.reaper_pid = None if self.reaper is None else _pid_of(self.reaper)
        self._census = Census(self.pid, adopter=self.reaper_pid, others=self._others)
        self._base = private_memory(self.pid)
        if self.parent is not None:
            self.parent.children.add(self)

    @property
    def is_alive(self) -> bool:
        """Whether the process is there."""
        return not self._ended and not _has_ended(self.process)

    def use(self, *, most: int, doubtful: float) -> TreeUse:
        """What its process tree uses; memory beyond what it had when it was forked."""
        use = self._census.take(most=most, doubtful=doubtful + self._base)
        return TreeUse(use.processes, max(0, use.memory - self._base))

    def owned(self) -> int:
        """Bytes of memory that would be free without it, its files included where they are in memory."""
        return self._census.owned() + self._files_in_memory()

    async def end(self) -> None:
        """Kill every process of the tree and wait until they are gone; what descends from it by forking lives on."""
        async with self._ending:
            if not self._ended:
                await self._end()
                self._ended = True

    async def _end(self) -> None:
        if self.reaper is not None and not self.children:
            _kill(self.reaper)
            if self.parent is not None:  # the root is reaped by the system's first process, whenever it likes
                await self._gone(self.reaper)
        else:
            await self._census.end(root_follows=False)
        await self._gone(self.process)

    async def release(self) -> None:
        """Close what was held for it here, as soon as no descendant needs it. Idempotent."""
        self._released = True
        self.line.close()
        if self.children or self._let_go:
            return
        self._let_go = True
        if self.parent is not None:
            self.parent.children.discard(self)
        if self.reaper is not None:
            _kill(self.reaper)
            os.close(self.reaper)
        if self.parent is None and self.proc is not None:
            os.close(self.proc)
        os.close(self.lifeline)
        os.close(self.process)
        if self.parent is not None and self.parent._released:
            await self.parent.release()

    def death(self) -> str:
        """How it ended: nobody here is told its status."""
        return "the kernel process ended"

    def last_words(self) -> str:
        """Of a kernel that did not answer."""
        return "the fork gave no answer in time."

    def _files_in_memory(self) -> int:
        if self.folder is not None:
            return 0
        try:
            found = os.statvfs(f"/proc/{self.pid}/root{self.home}")
        except OSError:  # it is gone
            return 0
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _others(self) -> Iterator[int]:
        """What was forked from it, and the first processes of their namespaces."""
        for child in self.children:
            yield child.pid
            if child.reaper_pid is not None:
                yield child.reaper_pid

    async def _gone(self, process: int) -> None:
        with anyio.move_on_after(_END_SECONDS):
            await anyio.wait_readable(process)


def _pid_of(process: int) -> int:
    """The process of a descriptor, as this process sees it.

    Raises:
        OSError: it is no descriptor of a living process.
    """
    found = re.search(r"^Pid:\s*([1-9]\d*)", Path(f"/proc/self/fdinfo/{process}").read_text(), re.MULTILINE)
    if found is None:
        raise OSError(errno.ESRCH, "no descriptor of a process")
    return int(found[1])


def _has_ended(process: int) -> bool:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(0))


def _kill(process: int) -> None:
    with suppress(OSError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
