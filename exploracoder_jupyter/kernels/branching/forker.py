"""Makes forks: the request, the wait for the child, and which libraries made forks hang on this machine."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, ValidationError

from exploracoder_jupyter.core.errors import KernelError, unwrap_group
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernel_agent.forking.fork_hazards import RISKY_LIBRARIES
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.processes.forked_process import BranchChannel, BranchMessage, ForkedProcess
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import (
    SandboxLevel,
    branch_layers,
    hidden_from_forks,
    home_links,
    landlock_rules,
    mounts_around_workdir,
)
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import counts_processes_separately
from exploracoder_jupyter.kernels.sandbox.syscall_filter import SyscallFilter, compile_filter
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.siblings import font_caches

# Builds the requests that a forked branch carries out before it runs any code; `kernel_agent.forking.kernel_fork`
# reads them.

_MAX_LIVE_DESCENDANTS: Final = 8
"""Live branches that may descend from one branch: limits on processes apply to all of them together."""
PORTS: Final = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}

ForkRequest = dict[str, Any]


@dataclass(slots=True)
class ForkRequestBuilder:
    """Builds the fork requests of one run."""

    launcher: Launcher
    snapshot: Snapshot
    level: SandboxLevel
    watched: bool = True
    """Whether branches report which names their cells bind, and limit their outputs."""
    filter: SyscallFilter | None = field(init=False)
    """The filter of the first generation, which all later ones inherit."""

    def __post_init__(self) -> None:
        level, network = self.level.name, self.launcher.sandbox.network
        self.filter = None if level == "open" else compile_filter(level, network=network)

    def root(self, *, chdir: Path | None) -> ForkRequest:
        """Return the request for the first generation: a child of an unconfined kernel that is only forked itself."""
        home = self.launcher.folder / "r"
        order = self._base_request(first=True, home=home, parent=None)
        confined = self.level.name != "open"
        environ = self.launcher.environ(self._seen(home))
        return {
            **order,
            "chdir": None if chdir is None else str(chdir),
            "environ": {**environ, **({"TMPDIR": "/tmp"} if self._isolated else {})} if confined else None,
            "output": self.launcher.sandbox.output_kb * 1000 if self.watched else None,
            "limits": {**self.launcher.limits(), "processes": None, "beyond": True} if confined else {},
            **mounts_around_workdir(self.launcher, self.snapshot),
        }

    def branch(self, serial: int, parent: Path) -> ForkRequest:
        """Return the request for a branch that serves as a kernel; `parent` is the home of the branch to fork."""
        home = parent / _short_name(serial)
        address = str(self._seen(home) / "k" / "k")
        connection = {"transport": "ipc", "ip": address, "key": secrets.token_hex(16), **PORTS}
        return {**self._base_request(first=False, home=home, parent=parent), "connection": connection}

    def home_of(self, order: ForkRequest) -> Path:
        """The folder of the branch's own files, as the branch sees it."""
        return self._seen(Path(order["home"]))

    @property
    def _isolated(self) -> bool:
        return self.level.name == "namespaces"

    def _seen(self, home: Path) -> Path:
        from exploracoder_jupyter.kernel_agent.confinement.namespaces import BRANCH_HOME  # Linux only

        return Path(BRANCH_HOME) if self._isolated else home

    def _base_request(self, *, first: bool, home: Path, parent: Path | None) -> ForkRequest:
        launcher, snapshot = self.launcher, self.snapshot
        source = snapshot.source if parent is None else parent / "work"
        hidden = () if self.level.name == "open" else hidden_from_forks(launcher)
        # Without namespaces, the user's own tasks would count too.
        counted = self._isolated and counts_processes_separately()
        return {
            "level": self.level.name,
            "first": first,
            "serve": not first,
            "network": launcher.sandbox.network,
            "hidden": [str(path) for path in hidden],
            "shown": [str(path) for path in launcher.readable],
            "workdir": str(snapshot.source),
            "lower": str(snapshot.folder),
            "overlay": self.level.overlay,
            "layers": branch_layers(launcher),
            "links": home_links(launcher) if self.level.name == "landlock" else {},
            "borrowed": [str(snapshot.source / path) for path in snapshot.borrowed],
            "size": min(launcher.disk, launcher.memory // 2),
            "fonts": [str(path) for path in font_caches()],
            "chdir": None,
            "limits": {"processes": launcher.max_tasks * _MAX_LIVE_DESCENDANTS if counted else None},
            "home": str(home),
            "source": str(source),
            "from": str(snapshot.folder if parent is None else source),
            "landlock": landlock_rules(launcher, snapshot, home) if self.level.name == "landlock" else {},
        }


def _short_name(serial: int) -> str:
    """Encode a serial number as a short folder name: folders nest by generation, and socket paths are limited to 107
    characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # upper case: collides with none of a branch's own folders
    text = ""
    while serial:
        serial, digit = divmod(serial, len(digits))
        text = digits[digit] + text
    return text or "0"


# Remembers for 30 days which libraries made forks hang on this machine, so that they are not forked again.

_MAX_LIBRARIES: Final = 50
_EXPIRY_SECONDS: Final = 30 * 24 * 3600.0
"""Entries expire: a later version of the library may survive a fork."""


def libraries_that_hung() -> list[str]:
    """Return the libraries on the list; empty where it cannot be read."""
    return sorted(_read_entries())[:_MAX_LIBRARIES]


def record_hang(library: str) -> None:
    """Add a library to the list. Where the list cannot be written, the entry is lost."""
    with suppress(OSError):
        _path().parent.mkdir(parents=True, exist_ok=True)
        _path().write_text(json.dumps({**_read_entries(), library: time.time()}), encoding="utf-8")


def _read_entries() -> dict[str, float]:
    """Return the entries that have not expired: library name to the time of its last hang."""
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    since = time.time() - _EXPIRY_SECONDS
    if not isinstance(found, dict):
        return {}
    return {name: at for name, at in found.items() if isinstance(at, int | float) and at > since}


def _path() -> Path:
    return user_cache_path("exploracoder_jupyter") / "fork-suspects.json"


# Makes forks: sends a process the request, waits until the child reports that it is ready, connects to its kernel.

_FORK_SECONDS: Final = 20.0
_MAX_NOTES: Final = 20
_MAX_CHARACTERS: Final = 300

RequestFork = Callable[[str], Coroutine[Any, Any, None]]
"""Asks an unconfined kernel to fork itself; the child connects to this address."""


class ForkRefused(KernelError):
    """This state cannot be forked: its kernel refuses, or its forks hang. `why` is a clause."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This state cannot be forked: {why}.")


@dataclass(slots=True)
class Forker:
    """Makes the forks of one run."""

    orders: ForkRequestBuilder
    context: zmq.asyncio.Context
    libraries_that_hung: list[str] = field(default_factory=list)
    """Libraries whose forks have hung before: a kernel that has loaded one is not forked."""
    notes: list[str] = field(default_factory=list)
    """What the root lacks compared with the kernel that it was forked from, one clause each."""
    _serial: count[int] = field(default_factory=lambda: count(1))

    async def root(self, request_fork: RequestFork, *, chdir: Path | None) -> ForkedProcess:
        """Make the first fork, which is confined and only serves to be forked. Raises KernelError: the fork could not
        be made."""
        address = self.orders.launcher.folder / "call"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root: ForkedProcess | None = None
        try:
            listener.bind(str(address))
            listener.listen(1)
            listener.setblocking(False)
            with anyio.fail_after(scale_limit(_FORK_SECONDS)):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(request_fork, str(address))
                    await anyio.wait_readable(listener)
                    channel = BranchChannel(listener.accept()[0])
                    root = await self._await_child(channel, self.orders.root(chdir=chdir), parent=None)
        except BaseException as error:
            if root is not None:
                with anyio.CancelScope(shield=True):
                    await root.end()
                    await root.release()
            if isinstance(error, TimeoutError):
                raise KernelError("The kernel did not answer the request to fork itself.") from error
            raise unwrap_group(error) from None
        finally:
            listener.close()
            address.unlink(missing_ok=True)
        assert root is not None
        return root

    async def branch(self, parent: ForkedProcess) -> Sibling:
        """Return a kernel that starts from exactly the parent's state. Cancelling leaves nothing behind. Raises
        ForkRefused: the fork could not be made; the state can still be reproduced by repeating its steps."""
        order = self.orders.branch(next(self._serial), parent.home)
        try:
            process = await self.child(parent, order)
            return await Sibling.connect(self._client(order, process), process)
        except KernelError as error:
            if isinstance(error, ForkRefused):
                raise
            raise ForkRefused(error.message.rstrip(".")) from error

    async def child(self, parent: ForkedProcess, order: ForkRequest) -> ForkedProcess:
        """Fork the parent; the child carries out the request. Raises ForkRefused: the parent reports that it cannot be
        forked; KernelError: the fork could not be made."""
        try:
            ours, theirs = BranchChannel.pair()
        except OSError as error:
            raise KernelError(f"A kernel could not be forked: {error.strerror}.") from error
        try:
            request = {"ask": "fork", "check": parent.parent is not None, "suspects": self.libraries_that_hung}
            parent.channel.send(request, [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise KernelError("The state to branch from no longer exists.") from error
        finally:
            theirs.close()
        return await self._await_child(ours, order, parent=parent)

    async def _await_child(
        self, channel: BranchChannel, order: ForkRequest, *, parent: ForkedProcess | None
    ) -> ForkedProcess:
        """Send the request to the child; return its process once it reports that it is ready, otherwise close the
        channel. Descriptors are accepted from it only at the level `namespaces`, where they cannot be another
        process's."""
        isolated = self.orders.level.name == "namespaces"
        expected = 0 if not isolated else 2 if parent is None else 1
        with ExitStack() as undo:
            undo.callback(channel.close)
            try:
                ours, theirs = socket.socketpair()
                lifeline = ours.detach()  # the child ends when it is closed
                undo.callback(os.close, lifeline)
                with theirs, self._open_descriptors(parent) as passed:
                    passed = {**passed, "lifeline": theirs.fileno()}
                    channel.send({**order, "given": list(passed)}, list(passed.values()))
                with anyio.fail_after(scale_limit(_FORK_SECONDS)):
                    message = await channel.receive()
                for number, descriptor in enumerate(message.descriptors):
                    if number < expected:
                        undo.callback(os.close, descriptor)
                    else:
                        os.close(descriptor)
                answer = _parse_answer(message)
                pidfd = os.pidfd_open(message.pid)
                undo.callback(os.close, pidfd)
                reaper_pidfd, proc = [*message.descriptors[:expected], None, None][:2]
                home = self.orders.home_of(order)
                process = ForkedProcess(
                    channel,
                    message.pid,
                    pidfd,
                    reaper_pidfd,
                    lifeline,
                    home,
                    None if isolated else home,
                    parent,
                    proc if parent is None else parent.proc,
                    tuple(name for name in answer.loaded if name in RISKY_LIBRARIES),
                )
            except (EOFError, OSError, TimeoutError) as error:
                raise KernelError("A kernel could not be forked: the child process did not answer.") from error
            undo.pop_all()
        if parent is None:
            self.notes = [_one_line(note) for note in answer.notes[:_MAX_NOTES]]
        return process

    @contextmanager
    def _open_descriptors(self, parent: ForkedProcess | None) -> Iterator[dict[str, int]]:
        """Yield the descriptors to pass to a fork, by name; they stay open until the block ends."""
        with ExitStack() as stack:
            passed = {}
            compiled = self.orders.filter
            if compiled is not None and parent is None:
                passed["filter"] = stack.enter_context(_memory_file(compiled.program))
            if parent is not None and parent.proc is not None:
                passed["proc"] = parent.proc
                if compiled is not None:
                    passed["permit"] = stack.enter_context(_memory_file(compiled.permit))
            yield passed

    def _client(self, order: ForkRequest, process: ForkedProcess) -> AsyncKernelClient:
        connection = order["connection"]
        client = AsyncKernelClient(context=self.context)
        client.transport = "ipc"
        client.ip = host_path(connection["ip"], process)
        for name in PORTS:
            setattr(client, name, connection[name])
        client.session.key = connection["key"].encode()
        return client


class _Answer(BaseModel):
    """What a child reports about itself. It may be false: code from a model may have run in its parent."""

    model_config = ConfigDict(extra="ignore")
    ready: bool = False
    notes: list[str] = []
    loaded: list[str] = []
    refused: str = ""
    error: str = ""


def _parse_answer(message: BranchMessage) -> _Answer:
    """Parse the answer of a child that is ready. Raises ForkRefused: its parent must not be forked; KernelError: the
    fork could not be made."""
    try:
        answer = _Answer.model_validate(message.content)
    except ValidationError as error:
        raise KernelError("A kernel could not be forked: the answer of the child process is invalid.") from error
    if answer.refused:
        raise ForkRefused(_one_line(answer.refused))
    if not answer.ready:
        last = (answer.error.strip().splitlines() or ["no reason given"])[-1]
        raise KernelError(f"A kernel could not be forked: {_one_line(last)}")
    return answer


@contextmanager
def _memory_file(content: bytes) -> Iterator[int]:
    """Yield the descriptor of an in-memory file with this content."""
    file = os.memfd_create("explora", os.MFD_CLOEXEC)
    try:
        os.write(file, content)
        yield file
    finally:
        os.close(file)


def host_path(path: str, process: ForkedProcess) -> str:
    """Translate a path of the branch to a path of this process."""
    return path if process.folder is not None else f"/proc/{process.pid}/root{path}"


def _one_line(text: str) -> str:
    """Return the text as one line of limited length, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:_MAX_CHARACTERS])
