"""Runs jobs that may hang, print, exit or change values in a forked child, and collects their results as they arrive.

The child has a copy of everything in this process and can damage nothing in it. It is silent: its output is discarded
and no exit handlers run. A system timer ends it even in the middle of C code, so it never outlives its time by itself;
the waiting parent kills and reaps it in any case. The child sends pieces of JSON through a pipe while it works, so
results sent before a hang count. Where forking is not possible, nothing runs.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

from exploracoder_jupyter.kernel_agent.forking.process_fork import can_fork, fork, suspend_sigchld_handler

SECONDS_EACH = 0.5
SECONDS_ALL = 1.5
_GRACE_SECONDS = 0.1
"""Lets the child's own timer fire first."""
_MAX_BYTES = 4_000_000
_exit, _wait, _kill = os._exit, os.waitpid, os.kill
_pipe, _read, _write, _close = os.pipe, os.read, os.write, os.close
"""The original functions: code that ran since may have replaced them, and a child must always exit."""

Send = Callable[[Any], None]
"""Sends one piece of JSON; raises OSError when the reader is gone."""
Job = Callable[[Send], None]


class Result(NamedTuple):
    """What one job sent, and how it ended."""

    pieces: list[Any]
    outcome: Literal["done", "late", "died", "unrun"]
    """`died`: the process was lost before its time was up; `unrun`: there was no time or no process for it."""


def possible() -> bool:
    """Return whether processes can be forked here at all."""
    return can_fork() and hasattr(signal, "setitimer")


def run(jobs: Sequence[Job], *, seconds: float = SECONDS_ALL, each: float = SECONDS_EACH) -> list[Result]:
    """Run the jobs one after another in one child, replaced by a new one after a job that had to be ended.

    Each job has `each` seconds, and all of them together have `seconds`.
    """
    results: list[Result] = []
    deadline = time.monotonic() + seconds
    while possible() and len(results) < len(jobs) and time.monotonic() < deadline:
        with suspend_sigchld_handler():
            batch = _run_in_child(jobs[len(results) :], each, deadline)
        if not batch:
            break
        results += batch
    return results + [Result([], "unrun")] * (len(jobs) - len(results))


def _run_in_child(jobs: Sequence[Job], each: float, deadline: float) -> list[Result]:
    """Return results up to the first job that did not finish; an empty list if the system refuses to fork."""
    try:
        read_fd, write_fd = _pipe()
    except OSError:
        return []
    child = _start(jobs, each, read_fd, write_fd)
    _close(write_fd)
    ended_by = 0
    try:
        results = _receive(_Frames(read_fd), len(jobs), each, deadline) if child else []
    finally:
        _close(read_fd)
        if child:
            ended_by = _reap(child)
    # The child's timer starts before this process, which may have to wait for a processor, counts the time.
    if results and results[-1].outcome == "died" and ended_by == signal.SIGALRM:
        results[-1] = results[-1]._replace(outcome="late")
    return results


def _start(jobs: Sequence[Job], each: float, read_fd: int, write_fd: int) -> int | None:
    child = None
    try:
        child = fork()
        if child == 0:
            _close(read_fd)
            _run_child(jobs, each, write_fd)
    except OSError:
        return None
    finally:
        if child == 0:
            _exit(1)
    return child


def _run_child(jobs: Sequence[Job], each: float, write_fd: int) -> NoReturn:
    """Run the jobs in the child and exit."""
    try:
        _silence()
        _detach_descriptors(write_fd)
        for job in jobs:
            signal.setitimer(signal.ITIMER_REAL, each)
            job(lambda piece: _send(write_fd, [piece]))
            _send(write_fd, [])
    finally:
        _exit(0)


def _silence() -> None:
    gc.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    null_stream: Any = _NullStream()
    sys.stdout = sys.stderr = null_stream
    ipykernel_streams: Any = sys.modules.get("ipykernel.iostream")
    if ipykernel_streams is not None:  # code that kept one of ipykernel's streams would make it send to the parent
        ipykernel_streams.OutStream.write = _NullStream.write
    with contextlib.suppress(OSError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        for fd in (1, 2):
            os.dup2(devnull, fd)


def _detach_descriptors(kept_fd: int) -> None:
    """Detach from the parent's file offsets and connections, so that reads here do not consume its data."""
    descriptors: list[int] = []
    with contextlib.suppress(OSError):
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    with open(os.devnull, "r+b", buffering=0) as devnull:
        for fd in descriptors:
            with contextlib.suppress(OSError):  # the descriptor of the directory listing itself is closed by now
                mode = os.fstat(fd).st_mode
                if fd != kept_fd and stat.S_ISREG(mode):
                    _reopen(fd, devnull.fileno())
                elif fd != kept_fd and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
                    os.dup2(devnull.fileno(), fd)


def _reopen(fd: int, devnull: int) -> None:
    """Reopen the file for reading at the same offset, or as null if that fails. Writes are discarded."""
    import fcntl  # not available on every system on which this module is imported

    try:
        offset = os.lseek(fd, 0, os.SEEK_CUR)
        readable = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
        reopened = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY) if readable else os.dup(devnull)
    except OSError:
        os.dup2(devnull, fd)
        return
    if readable:
        os.lseek(reopened, offset, os.SEEK_SET)
    os.dup2(reopened, fd)
    os.close(reopened)


class _NullStream(io.TextIOBase):
    """Discards everything written to it."""

    def write(self, text: str) -> int:
        return len(text)


def _send(write_fd: int, piece: list[Any]) -> None:
    data = json.dumps(piece).encode() + b"\n"
    while data:
        data = data[_write(write_fd, data) :]


def _receive(frames: _Frames, count: int, each: float, deadline: float) -> list[Result]:
    results: list[Result] = []
    while len(results) < count:
        started = time.monotonic()
        pieces: list[Any] = []
        limit = min(deadline, started + each + _GRACE_SECONDS)
        while frame := frames.next(limit):
            pieces += frame[:1]
        if frame is None:
            late = time.monotonic() >= min(deadline, started + 0.9 * each)
            return [*results, Result(pieces, "late" if late else "died")]
        results.append(Result(pieces, "done"))
    return results


class _Frames:
    """Reads lines of JSON from the pipe. They are not trusted: code that ran in the child could write anything."""

    def __init__(self, read_fd: int) -> None:
        self._read_fd, self._data, self._bytes_left = read_fd, b"", _MAX_BYTES
        self._poll = select.poll()
        self._poll.register(read_fd, select.POLLIN)

    def next(self, limit: float) -> list[Any] | None:
        """Return the next frame, or None at the end, on an error, or when no time is left."""
        while b"\n" not in self._data:
            remaining = limit - time.monotonic()
            if remaining <= 0 or self._bytes_left <= 0 or not self._poll.poll(1000 * remaining):
                return None
            data = _read(self._read_fd, 1 << 16)
            if not data:
                return None
            self._data += data
            self._bytes_left -= len(data)
        line, _, self._data = self._data.partition(b"\n")
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return frame if isinstance(frame, list) else None


def _reap(child: int) -> int:
    """End and reap the child; return the signal that ended it, or 0.

    There may be nothing to reap if SIGCHLD is ignored or handled elsewhere.
    """
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        pid, status = _wait(child, os.WNOHANG)
        if pid == 0:
            _kill(child, signal.SIGKILL)
            _, status = _wait(child, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return 0
