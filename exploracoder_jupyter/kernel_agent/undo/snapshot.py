"""A checkpoint: a fork of the kernel that sleeps, and wakes copies of itself that become the live kernel.

    snapshot --fork--> middle --fork--> live kernel     the middle ends at once, so that the first process adopts it

The steps of a change, each of which leaves the old kernel live if it fails: the woken process builds a kernel
application on new sockets and says that it is ready; the old kernel commits; the woken one announces itself to the
first process, lets the relay exchange the kernels, and says that it has taken over.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import random
import select
import signal
import socket
import stat
import sys
import threading
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn

from exploracoder_jupyter.kernel_agent.forking import process_fork, rebuilt_kernel
from exploracoder_jupyter.kernel_agent.undo import handover

_PR_SET_PDEATHSIG = 1
_ADOPTION_SECONDS = 5.0


@dataclass(slots=True)
class Sleeper:
    """A checkpoint, as the live kernel knows it."""

    name: str
    pid: int
    channel: socket.socket
    made: float
    """Time, in seconds since the epoch."""
    cell: int
    """The number of the cell that is next there."""
    names: list[str] = field(default_factory=list)
    """The user's variables."""

    def to_json(self) -> dict[str, Any]:
        """Return everything but the channel, which is passed as a descriptor."""
        return {name: getattr(self, name) for name in ("name", "pid", "made", "cell", "names")}


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a woken kernel was given: the request that it now answers, and the checkpoints."""

    request: str
    """Id of the message that asked to go back: it is sent to this kernel, too."""
    report: str
    sleepers: list[Sleeper]


def receive(channel: socket.socket, root: int, seconds: float | None = None) -> tuple[dict[str, Any], list[int]]:
    """Receive a message; ends this process when the first one, of which `root` is a descriptor, has ended.

    Raises TimeoutError after so many seconds, and EOFError or OSError if the other end is gone.
    """
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(root, select.POLLIN)
    ready = dict(poll.poll(None if seconds is None else seconds * 1000))
    if root in ready:
        os._exit(1)
    if not ready:
        raise TimeoutError("no answer")
    return process_fork.receive(channel)


def fork_sleeper(shell: Any, link: handover.Link, name: str, sleepers: list[Sleeper], arrived: Any) -> Sleeper:
    """Fork a snapshot of this kernel; raises OSError if the system refuses. `arrived` is called in what it wakes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    forked: list[int | OSError] = []
    cell = shell.execution_count + 1

    def run() -> None:
        state = random.getstate()  # the module reseeds itself in every child
        try:
            pid = process_fork.fork()
        except OSError as error:
            forked.append(error)
            return
        if pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                random.setstate(state)
                for inherited in (ours, link.at_root, *(sleeper.channel for sleeper in sleepers)):
                    if inherited is not None:  # the objects, too: one that is collected later would close a number
                        inherited.close()
                kept = {theirs.fileno(), *link.descriptors()}
                _replace_descriptors(kept)
                process_fork.send(theirs, {"asleep": True})
                _sleep(shell, link, theirs, cell, arrived)
            except BaseException as error:
                process_fork.send_if_open(theirs, {"error": traceback.format_exception_only(error)[-1].strip()})
            finally:
                os._exit(1)
        forked.append(pid)

    import contextvars

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="explora-fork")
    thread.start()
    thread.join()
    theirs.close()
    if isinstance(forked[0], OSError):
        ours.close()
        raise forked[0]
    try:
        answer, _ = receive(ours, link.root, 10)
        if "error" in answer:
            raise OSError(answer["error"])
    except (EOFError, OSError) as error:  # among them TimeoutError
        kill(Sleeper(name, forked[0], ours, 0, 0))
        raise OSError(f"the snapshot did not start: {error}") from error
    variables = [key for key in shell.user_ns if not key.startswith("_")]
    return Sleeper(name, forked[0], ours, time.time(), cell, variables)


def kill(sleeper: Sleeper) -> None:
    """End a snapshot."""
    with contextlib.suppress(OSError):
        os.kill(sleeper.pid, signal.SIGKILL)
    sleeper.channel.close()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(sleeper.pid, 0)


def _replace_descriptors(kept: Collection[int]) -> None:
    """Turn what is connected to others into the null device, and reopen files at the offset of this moment."""
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        if getattr(stream, "_original_stdstream_copy", None) is not None:
            os.dup2(stream._original_stdstream_copy, stream._original_stdstream_fd)
    rebuilt_kernel.close_own_descriptors(keep=kept)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in sorted(map(int, os.listdir("/proc/self/fd"))):
        if number in {*kept, null, 0, 1, 2}:
            continue
        with contextlib.suppress(OSError):  # the descriptor of the listing
            status, path = os.fstat(number), os.readlink(f"/proc/self/fd/{number}")
            inheritable = os.get_inheritable(number)
            if stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode) or path.startswith("anon_inode"):
                os.dup2(null, number, inheritable=inheritable)
            elif stat.S_ISREG(status.st_mode) and os.path.exists(path):
                _reopen(number, path, status, inheritable)
    os.close(null)


def _reopen(number: int, path: str, status: os.stat_result, inheritable: bool) -> None:
    """Give a descriptor an offset of its own, which the live kernel does not move."""
    flags = fcntl.fcntl(number, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK)
    new = os.open(path, flags | os.O_CLOEXEC)
    try:
        if os.path.samestat(os.fstat(new), status):
            os.lseek(new, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(new, number, inheritable=inheritable)
    finally:
        os.close(new)


def _sleep(shell: Any, link: handover.Link, channel: socket.socket, cell: int, arrived: Any) -> NoReturn:
    """Wait for requests to wake a copy; an end of file says that this checkpoint is not needed any more."""
    state = random.getstate()
    while True:
        try:
            order, descriptors = receive(channel, link.root)
        except (EOFError, OSError):
            os._exit(0)
        switch = socket.socket(fileno=descriptors[0])
        middle = process_fork.fork()
        if middle == 0:
            try:
                if process_fork.fork():
                    os._exit(0)
                channel.close()
                random.setstate(state)
                _wake(shell, link, switch, order, cell, arrived)
            except BaseException as error:
                process_fork.send_if_open(switch, {"error": traceback.format_exception_only(error)[-1].strip()})
            finally:
                os._exit(1)
        os.waitpid(middle, 0)
        switch.close()


def _wake(
    shell: Any, link: handover.Link, switch: socket.socket, order: dict[str, Any], cell: int, arrived: Any
) -> NoReturn:
    end = time.monotonic() + _ADOPTION_SECONDS
    while os.getppid() != link.root_pid:  # it adopts us when the middle process has ended
        if time.monotonic() > end:
            raise TimeoutError("the first process of the kernel did not adopt this one")
        time.sleep(0.0005)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    process_fork.send(switch, {"pid": os.getpid()})
    was_enabled = gc.isenabled()
    shell.execution_count = cell
    rebuilt_kernel.detach_shell(shell)
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()
    app = rebuilt_kernel.build_application(shell, order["connection"])
    handover.accept_all_requests(app.kernel)
    _reopen_history(shell)
    process_fork.send(switch, {"ready": True})
    sleepers = []
    while True:
        message, descriptors = receive(switch, link.root)  # an end of file: the old kernel did not commit
        if "sleeper" not in message:
            break
        sleepers.append(Sleeper(**message["sleeper"], channel=socket.socket(fileno=descriptors[0])))
    link.lock = threading.Lock()
    link.watch()
    link.announce()
    link.exchange(order["endpoint"], message["marker"])
    arrived(Arrival(message["request"], message["report"], sleepers))
    process_fork.send_if_open(switch, {"taken": True})
    switch.close()
    app.start()
    if app.control_thread is not None:  # otherwise the application waits for its last message until a limit
        app.control_thread.join(1)
    import atexit

    atexit._run_exitfuncs()
    os._exit(0)


def _reopen_history(shell: Any) -> None:
    """Store what is executed from now on as another session of the history; without a database, store nothing."""
    history = shell.history_manager
    if history is None or not getattr(history, "db", None):
        return
    try:
        from IPython.core.history import HistorySavingThread

        history.enabled = True
        history.init_db()
        history.new_session()
        history.save_thread = HistorySavingThread(history)
        history.save_thread.start()
    except Exception:
        history.enabled, history.save_thread = False, None
