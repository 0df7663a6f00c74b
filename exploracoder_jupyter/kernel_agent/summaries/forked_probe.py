"""Runs what may hang, print, end the process or change values in a forked child, and hears what it said until then.

The child has everything that this process has and can spoil nothing of it. It is silent: what it prints goes nowhere,
and no handler of an exit runs in it. A timer of the system ends it, in the middle of C code, too, so that it never
outlives its time by itself; whoever waits for it ends and reaps it in any case. Pieces of JSON come over a pipe while
the child works, so what was said before a hang counts. Where nothing can be forked, nothing is run.
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

from exploracoder_jupyter.kernel_agent.forking.process_fork import fork, forkable
from exploracoder_jupyter.kernel_agent.forking.sigchld_guard import unheard

SECONDS_EACH = 0.5
SECONDS_ALL = 1.5
_GRACE_SECONDS = 0.1
"""The child's own timer comes first."""
_MOST_BYTES = 4_000_000
_LENGTH = 4
_exit, _wait, _kill = os._exit, os.waitpid, os.kill
_pipe, _read, _write, _close = os.pipe, os.read, os.write, os.close
"""As they were: what has run since may have put something else in their place, and a child has to end."""

Say = Callable[[Any], None]
"""Sends one piece of JSON; raises OSError when nobody listens any more."""
Job = Callable[[Say], None]


class Said(NamedTuple):
    """What one job said."""

    pieces: list[Any]
    ending: Literal["done", "late", "died", "unrun"]
    """`died`: the process was lost before its time was up; `unrun`: there was no time or no process for it."""


def possible() -> bool:
    """Whether processes can be forked here at all."""
    return forkable() and hasattr(signal, "setitimer")


def run(jobs: Sequence[Job], *, seconds: float = SECONDS_ALL, each: float = SECONDS_EACH) -> list[Said]:
    """Run the jobs one after another in one child, and in a new one after a job that had to be ended.

    A job has `each` seconds, all of them together have `seconds`.
    """
    said: list[Said] = []
    until = time.monotonic() + seconds
    while possible() and len(said) < len(jobs) and time.monotonic() < until:
        with unheard():
            more = _run_in_a_child(jobs[len(said) :], each, until)
        if not more:
            break
        said += more
    return said + [Said([], "unrun")] * (len(jobs) - len(said))


def _run_in_a_child(jobs: Sequence[Job], each: float, until: float) -> list[Said]:
    """What the first jobs said, to the first that did not end; nothing where the system refuses a process."""
    try:
        reading, writing = _pipe()
    except OSError:
        return []
    child = _start(jobs, each, reading, writing)
    _close(writing)
    try:
        return _listen(_Frames(reading), len(jobs), each, until) if child else []
    finally:
        _close(reading)
        if child:
            _end(child)


def _start(jobs: Sequence[Job], each: float, reading: int, writing: int) -> int | None:
    child = None
    try:
        child = fork()
        if child == 0:
            _close(reading)
            _serve(jobs, each, writing)
    except OSError:
        return None
    finally:
        if child == 0:
            _exit(1)
    return child


def _serve(jobs: Sequence[Job], each: float, writing: int) -> NoReturn:
    """The child's whole life."""
    try:
        _hush()
        _part(writing)
        for job in jobs:
            signal.setitimer(signal.ITIMER_REAL, each)
            job(lambda piece: _send(writing, [piece]))
            _send(writing, [])
    finally:
        _exit(0)


def _hush() -> None:
    gc.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    nowhere: Any = _Nowhere()
    sys.stdout = sys.stderr = nowhere
    kernels: Any = sys.modules.get("ipykernel.iostream")
    if kernels is not None:  # who has kept one of its streams would make it send things to the parent
        kernels.OutStream.write = _Nowhere.write
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nothing, number)


def _part(kept: int) -> None:
    """Share no place in a file with the parent, and no connection: what is read here is not read there."""
    with open(os.devnull, "r+b", buffering=0) as nothing:
        for number in _descriptors():
            if number != kept:
                _part_from(number, nothing.fileno())


def _descriptors() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir("/proc/self/fd")]
    return []


def _part_from(number: int, nothing: int) -> None:
    with contextlib.suppress(OSError):  # the descriptor of the list itself is closed by now
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            _open_anew(number, nothing)
        elif stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            os.dup2(nothing, number)


def _open_anew(number: int, nothing: int) -> None:
    """The same file at the same place, for reading; nothing where that is refused. What is written goes nowhere."""
    import fcntl  # not known to every system on which this module is loaded

    try:
        place = os.lseek(number, 0, os.SEEK_CUR)
        readable = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
        anew = os.open(f"/proc/self/fd/{number}", os.O_RDONLY) if readable else os.dup(nothing)
    except OSError:
        os.dup2(nothing, number)
        return
    if readable:
        os.lseek(anew, place, os.SEEK_SET)
    os.dup2(anew, number)
    os.close(anew)


class _Nowhere(io.TextIOBase):
    """Takes all that is printed."""

    def write(self, text: str) -> int:
        return len(text)


def _send(writing: int, piece: list[Any]) -> None:
    data = json.dumps(piece).encode()
    data = len(data).to_bytes(_LENGTH, "big") + data
    while data:
        data = data[_write(writing, data) :]


def _listen(frames: _Frames, count: int, each: float, until: float) -> list[Said]:
    heard: list[Said] = []
    while len(heard) < count:
        begun = time.monotonic()
        pieces: list[Any] = []
        limit = min(until, begun + each + _GRACE_SECONDS)
        while frame := frames.next(limit):
            pieces += frame[:1]
        if frame is None:
            late = time.monotonic() >= min(until, begun + 0.9 * each)
            return [*heard, Said(pieces, "late" if late else "died")]
        heard.append(Said(pieces, "done"))
    return heard


class _Frames:
    """What comes out of the pipe. The child's end is not trusted: what ran there could write anything to it."""

    def __init__(self, reading: int) -> None:
        self._reading, self._data, self._room = reading, b"", _MOST_BYTES
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)

    def next(self, limit: float) -> list[Any] | None:
        """The next frame, or none when there is an end, a fault, or no time left."""
        size = self._take(_LENGTH, limit)
        data = self._take(int.from_bytes(size, "big"), limit) if size else None
        try:
            frame = json.loads(data) if data else None
        except (ValueError, RecursionError):
            return None
        return frame if isinstance(frame, list) else None

    def _take(self, count: int, limit: float) -> bytes | None:
        while len(self._data) < count:
            left = limit - time.monotonic()
            if left <= 0 or self._room <= 0 or not self._poll.poll(1000 * left):
                return None
            data = _read(self._reading, 1 << 16)
            if not data:
                return None
            self._data += data
            self._room -= len(data)
        data, self._data = self._data[:count], self._data[count:]
        return data


def _end(child: int) -> None:
    """Leave neither process nor zombie. Who ignores SIGCHLD or reaps by himself has none of it to reap here."""
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        if _wait(child, os.WNOHANG) == (0, 0):
            _kill(child, signal.SIGKILL)
            _wait(child, 0)
