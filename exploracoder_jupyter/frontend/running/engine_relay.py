"""The link to one engine: a process of its own, lines of JSON on its pipes.

A reader thread puts what the engine says into a queue; whoever follows the run takes it from there with a timeout, so
that stop, interrupt and the engine's death are noticed at any moment. A request to fork this kernel is answered by the
reader thread itself: nobody may be following, and the main thread may be in a cell. `past_fork` tells whoever must not
change the kernel before.

The engine has a session of its own: the interrupt of a cell does not reach it, so nothing but this link ends it: a
message first, then signals. When this process dies, the engine sees the end of its standard input and closes the trace
by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Protocol

from pydantic import ValidationError

from exploracoder_jupyter.core.errors import ExploraError, MissingMeans
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.protocol.engine_messages import (
    Choose,
    Failed,
    Finished,
    ForkKernel,
    KernelForked,
    RecordMessage,
    Replan,
    Retry,
    Skip,
    Start,
    Stop,
    ToEngine,
    Told,
    decode_from_engine,
    encode,
)

PATIENCE = 3.0
"""Seconds that each step of ending an engine is given before the next, harder one."""


def engine_command(python: str | None = None) -> tuple[str, ...]:
    """How an engine is started. `-P`: a file of the user's folder must not shadow a module of the engine."""
    return (python or sys.executable, "-P", "-m", "exploracoder_jupyter.engine")


class Engine(Protocol):
    """What a run needs of its engine."""

    fork_settled: threading.Event
    """Set once this kernel was forked, or it is clear that it will not be."""

    def messages(self, *, tick: float) -> Iterator[Told | None]:
        """What the engine says, `None` whenever it said nothing for `tick` seconds. Ends with the engine."""
        ...

    def stop(self) -> None:
        """Ask the engine to finish now and to keep what was learned. Returns at once."""
        ...

    def skip(self, subtask: str) -> None:
        """Ask the engine to give up this subtask. Returns at once."""
        ...

    def retry(self, subtask: str, hint: str) -> None:
        """Ask the engine to explore this subtask and the later ones again. Returns at once."""
        ...

    def choose(self, candidate: str) -> None:
        """Ask the engine to carry this candidate forward. Returns at once."""
        ...

    def replan(self, titles: Sequence[str]) -> None:
        """Replace the subtasks that have not begun; ends a review. Returns at once."""
        ...

    def end(self, *, patience: float = PATIENCE) -> None:
        """End the engine and release what it uses."""
        ...


class FailedEngine:
    """Stands in for the engine of a run that cannot be made: its only message is the error."""

    def __init__(self, error: ExploraError) -> None:
        self.fork_settled = threading.Event()
        self.fork_settled.set()
        self._messages: list[Told] = [Failed(error=error.message, remedy=error.remedy)]

    def messages(self, *, tick: float) -> Iterator[Told | None]:
        """The error, once."""
        while self._messages:
            yield self._messages.pop()

    def stop(self) -> None:
        """Do nothing: there is no engine."""

    def skip(self, subtask: str) -> None:
        """Do nothing: there is no engine."""

    def retry(self, subtask: str, hint: str) -> None:
        """Do nothing: there is no engine."""

    def choose(self, candidate: str) -> None:
        """Do nothing: there is no engine."""

    def replan(self, titles: Sequence[str]) -> None:
        """Do nothing: there is no engine."""

    def end(self, *, patience: float = PATIENCE) -> None:
        """Do nothing: there is no engine."""


class Relay:
    """One engine process, from its start to its end."""

    def __init__(self, start: Start, *, command: Sequence[str], fork: Callable[[str], None] | None = None) -> None:
        """Start the engine and send it its order; `fork` forks this kernel when the engine asks for that.

        Raises:
            MissingMeans: the interpreter cannot be started.
        """
        self.fork_settled = threading.Event()
        """Set once this kernel was forked, or it is clear that it will not be."""
        self._queue: SimpleQueue[Told | None] = SimpleQueue()
        self._fork = fork
        self._log: deque[str] = deque(maxlen=200)
        self._writing = threading.Lock()
        self._done = False
        self._process = _launch(command)
        threads = (self._read_messages, self._read_log)
        self._threads = [threading.Thread(target=work, daemon=True, name="explora-relay") for work in threads]
        try:
            for thread in self._threads:
                thread.start()
            self._send(start)
        except BaseException:  # nobody would hold it any more
            self._signal(signal.SIGKILL)
            raise

    def messages(self, *, tick: float) -> Iterator[Told | None]:
        """What the engine says, `None` whenever it said nothing for `tick` seconds. Ends with the engine.

        May be called again after an interrupt: it goes on where it was. If the engine ends without a last word, a
        `Failed` that says so is the last message.
        """
        while not self._done:
            try:
                message = self._queue.get(timeout=tick)
            except Empty:
                yield None
                continue
            self._done = message is None or isinstance(message, Finished | Failed)
            yield message or self._obituary()

    def stop(self) -> None:
        """Ask the engine to finish now and to keep what was learned. Returns at once."""
        self._send(Stop())

    def skip(self, subtask: str) -> None:
        """Ask the engine to give up this subtask. Returns at once."""
        self._send(Skip(subtask=subtask))

    def retry(self, subtask: str, hint: str) -> None:
        """Ask the engine to explore this subtask and the later ones again. Returns at once."""
        self._send(Retry(subtask=subtask, hint=hint))

    def choose(self, candidate: str) -> None:
        """Ask the engine to carry this candidate forward instead. Returns at once."""
        self._send(Choose(candidate=candidate))

    def replan(self, titles: Sequence[str]) -> None:
        """Replace the subtasks that have not begun; ends a review. Returns at once."""
        self._send(Replan(titles=[*titles]))

    def end(self, *, patience: float | None = None) -> None:
        """End the engine and release the pipes: end of input, then SIGTERM, then SIGKILL, `patience` seconds each.

        `PATIENCE` by default, longer on a busy machine.

        An interrupt while waiting goes on to the next, harder step.
        """
        with self._writing:
            _close(self._process.stdin)
        for blow in (signal.SIGTERM, signal.SIGKILL):
            if self._wait(scale(PATIENCE) if patience is None else patience):
                break
            self._signal(blow)
        self._process.wait()
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _wait(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            self._process.send_signal(number)

    def _send(self, message: ToEngine) -> None:
        """A dead engine is noticed by the end of its output, not here."""
        stdin = self._process.stdin
        with self._writing:
            if stdin is None or stdin.closed:
                return
            try:
                stdin.write(encode(message))
                stdin.flush()
            except OSError:
                return

    def _read_messages(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with stdout:
            for line in stdout:
                try:
                    message = decode_from_engine(line)
                except ValidationError:
                    self._log.append(f"not a message: {line.rstrip()[:500]}")
                    continue
                if isinstance(message, ForkKernel):
                    self._send(KernelForked(number=message.number, problem=self._fork_problem(message)))
                    self.fork_settled.set()
                else:
                    self._queue.put(message)
                    if _is_past_fork(message):
                        self.fork_settled.set()
        self._queue.put(None)
        self.fork_settled.set()

    def _fork_problem(self, request: ForkKernel) -> str:
        """Fork this kernel; why that could not be done, or nothing."""
        if self._fork is None:
            return "it did not offer itself"
        try:
            self._fork(request.address)
        except Exception as error:  # whatever it is, the engine waits for an answer and has another way
            return str(error) or type(error).__name__
        return ""

    def _read_log(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with stderr:
            for line in stderr:
                self._log.append(line.rstrip())

    def _obituary(self) -> Failed:
        self._wait(1.0)
        self._threads[1].join(timeout=1.0)
        status = self._process.poll()
        how = f"killed by signal {-status}" if status is not None and status < 0 else f"exit status {status}"
        last = next((line for line in reversed(tuple(self._log)) if line.strip()), "")
        return Failed(
            error=f"The engine ended unexpectedly ({how}).", remedy=f"It said last: {last[:300]}" if last else ""
        )


def _is_past_fork(message: Told) -> bool:
    """Whether an engine that says this asks for no fork any more, if it ever did."""
    if isinstance(message, RecordMessage):
        return isinstance(message.record.event, RunStarted)
    return isinstance(message, Finished | Failed)


def _launch(command: Sequence[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
            start_new_session=True,
        )
    except OSError as error:
        raise MissingMeans(
            f"The engine cannot be started with {command[0]!r}: {error.strerror}.",
            remedy="Check engine_python in `%explora config`.",
        ) from error


def _close(pipe: IO[str] | None) -> None:
    """A dead engine's pipe cannot be flushed; that is no news."""
    if pipe is not None:
        with suppress(OSError):
            pipe.close()
