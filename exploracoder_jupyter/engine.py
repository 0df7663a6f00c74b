"""Runs one exploration in its own process: `python -m exploracoder_jupyter.engine`, messages on its standard streams.

Standard output carries the protocol and nothing else: it is redirected at startup, so that a library that prints
cannot corrupt it. Controls arrive on standard input. The end of standard input means that the kernel is gone: the run
is stopped and its trace closed, as with `Stop` and SIGTERM. The process always exits within seconds of a request to
stop.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from pydantic import JsonValue, ValidationError

from exploracoder_jupyter.core.errors import InternalError, UsageError, to_explora_error
from exploracoder_jupyter.core.types import RepositoryTask, Task
from exploracoder_jupyter.protocol import messages
from exploracoder_jupyter.protocol.messages import (
    CellsChanged,
    Choose,
    Control,
    Explore,
    Failed,
    Finished,
    FromEngine,
    KernelForked,
    RecordMessage,
    Replan,
    Retry,
    RunEdited,
    Skip,
    SolutionShown,
    Start,
    Stop,
    ToEngine,
    TraceAt,
    decode_to_engine,
    encode,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.runs import KernelForkClient, Order, Replay, RunSteering

GRACE = 4.5
"""Seconds from a request to stop until the process exits, whatever is still in progress."""


class Outbox:
    """Writes messages from a thread, so that a slow reader does not block the run."""

    def __init__(self, pipe: TextIO, *, on_broken: Callable[[], None]) -> None:
        """`on_broken` is called once if the reader has closed the pipe."""
        self._pipe = pipe
        self._on_broken = on_broken
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True, name="engine-outbox")
        self._thread.start()

    def send(self, message: FromEngine) -> None:
        """Queue a message."""
        self._queue.put(encode(message))

    def close(self, *, seconds: float) -> None:
        """Wait at most `seconds` until everything is written."""
        self._queue.put(None)
        if threading.current_thread() is not self._thread:  # the writer itself may have found the pipe broken
            self._thread.join(seconds)

    def _write(self) -> None:
        try:
            while (line := self._queue.get()) is not None:
                self._pipe.write(line)
                self._pipe.flush()
        except OSError:
            self._on_broken()


class Engine:
    """Reads the start message and the controls, executes the run and sends its events."""

    def __init__(self, inbox: TextIO, outbox: TextIO) -> None:
        self._inbox = inbox
        self._outbox = Outbox(outbox, on_broken=self.stop)
        self._steering: RunSteering | None = None
        self._pending_controls: list[Control] = []
        self._steering_lock = threading.Lock()
        self._kernel_line: KernelForkClient | None = None
        self._stop_requested = False
        self._variables: str | None = None

    def run(self) -> int:
        """Execute the requested run and return the exit status.

        The status is 0 if the run was made, whatever its result, 3 after an internal error, and 2 otherwise.
        """
        try:
            start = self._read_start()
            self._variables = start.variables
            threading.Thread(target=self._read_controls, daemon=True, name="engine-inbox").start()
            last: Finished | Failed = Finished(summary=self._execute(start))
            status = 0
        except Exception as error:
            known = to_explora_error(error)
            if isinstance(known, InternalError):
                traceback.print_exception(error)
            last = Failed(error=known.message, remedy=known.remedy)
            status = 3 if isinstance(known, InternalError) else 2
        self._send_last(last)
        self._remove_variables()
        return status

    def stop(self) -> None:
        """End the run, keep its results, and exit within `GRACE` seconds. From any thread or signal handler."""
        steering = self._steering
        if not self._stop_requested:
            self._stop_requested = True
            _exit_after(GRACE, first=self._remove_variables)
        if steering is None:
            self._send_last(Failed(error="The run was stopped before it began."))
            self._remove_variables()
            os._exit(0)
        steering.stop()

    def _send_last(self, message: Finished | Failed) -> None:
        self._outbox.send(message)
        self._outbox.close(seconds=2.0 if self._stop_requested else GRACE)

    def _remove_variables(self) -> None:
        """Remove the variables that the kernel sent. The kernel removes them too, unless it was killed."""
        if self._variables:
            shutil.rmtree(self._variables, ignore_errors=True)

    def _execute(self, start: Start) -> dict[str, JsonValue]:
        """Execute the run and return its summary.

        `exploracoder_jupyter.runs` is imported here, because that takes a second or more and a stop must work already.
        """
        import anyio

        from exploracoder_jupyter.runs import KernelForkClient, RunSteering, replay, run

        steering, line = RunSteering(), KernelForkClient(self._outbox.send)
        self._kernel_line = line
        with self._steering_lock:
            self._steering = steering
            for control in self._pending_controls:
                steering.send(control)

        async def execute() -> dict[str, JsonValue]:
            order = _build_order(start, line)
            execute_order = partial(replay, _build_replay(start.replay, order)) if start.replay else partial(run, order)
            send = self._outbox.send
            return dict(
                await execute_order(
                    lambda record: send(RecordMessage(record=record)),
                    steering=steering,
                    on_trace_created=lambda path: send(TraceAt(path=str(path))),
                    cells=(lambda changes: send(CellsChanged(changes=changes))) if start.cells else None,
                    solution=lambda outputs: send(SolutionShown(outputs=outputs)),
                )
            )

        return anyio.run(execute)

    def _read_start(self) -> Start:
        message: ToEngine | None = None
        with suppress(ValidationError):
            message = decode_to_engine(self._inbox.readline())
        if not isinstance(message, Start):
            remedy = "The engine is started by the magic, not by hand."
            raise UsageError("The first line is not a start message.", remedy=remedy)
        return message

    def _read_controls(self) -> None:
        for line in self._inbox:
            try:
                self._handle(decode_to_engine(line))
            except ValidationError:
                traceback.print_exc()
        if self._kernel_line:
            self._kernel_line.gone()
        self.stop()

    def _handle(self, message: ToEngine) -> None:
        match message:
            case Stop():
                self.stop()
            case KernelForked() if self._kernel_line:
                self._kernel_line.answered(message)
            case Skip() | Retry() | Choose() | Replan() | Explore() | RunEdited():
                with self._steering_lock:
                    if self._steering:
                        self._steering.send(message)
                    else:  # the modules of the run are being imported
                        self._pending_controls.append(message)


def main() -> int:
    """Execute one run, as requested on standard input."""
    engine = Engine(*_claim_streams())

    def handle_signal(_number: int, _frame: FrameType | None) -> None:
        engine.stop()

    for name in ("SIGTERM", "SIGINT", "SIGBREAK"):  # the last is Windows's
        if number := getattr(signal, name, None):
            signal.signal(number, handle_signal)
    return engine.run()


def _claim_streams() -> tuple[TextIO, TextIO]:
    """Return private copies of the standard streams.

    From then on, what libraries print goes to standard error, and standard input is empty for them.
    """
    inbox = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace")
    outbox = os.fdopen(os.dup(1), "w", encoding="utf-8")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return inbox, outbox


def _exit_after(seconds: float, *, first: Callable[[], None]) -> None:
    """Exit after this time, even if a thread of a library, or one that cannot be cancelled, is still running."""

    def exit_now() -> None:
        first()
        os._exit(1)

    timer = threading.Timer(seconds, exit_now)
    timer.daemon = True
    timer.start()


def _build_order(start: Start, line: KernelForkClient) -> Order:
    from exploracoder_jupyter.runs import CarriedSubtask, Order, ResumePoint, in_repository, resume_order

    given = None
    if begin := start.given:
        last = len(begin.code) - 1
        carried = (CarriedSubtask(code, chosen=begin.chosen and place == last) for place, code in enumerate(begin.code))
        given = ResumePoint(tuple(begin.plan), tuple(carried), begin.hint)
    order = Order(
        task=Task(
            text=start.task,
            libraries=tuple(start.libraries),
            uses=tuple(start.uses),
            check=start.check,
            solution_name=start.solution_name,
            setup=start.setup,
        ),
        layers=tuple(start.layers),
        workdir=Path(start.workdir),
        notebook=Path(start.notebook) if start.notebook else None,
        cell=start.cell,
        variables=Path(start.variables) if start.variables else None,
        unsent=start.unsent,
        live=line.kernel(start.live) if start.live else None,
        mentioned=tuple(start.mentioned),
        steerable=True,
        given=given,
    )
    if repository := start.repository:
        task = RepositoryTask(repository.target, tuple(repository.tests), repository.command)
        order = in_repository(order, Path(repository.path), task)
    resume = start.resume
    return resume_order(order, Path(resume.trace), cell=resume.cell, hint=resume.hint) if resume else order


def _build_replay(request: messages.Replay, order: Order) -> Replay:
    from exploracoder_jupyter.runs import prepare_replay

    trace, out = Path(order.workdir, request.trace), Path(order.workdir, request.out)
    return prepare_replay(trace, out, delay=request.delay, kernel=request.kernel, order=replace(order, steerable=False))


if __name__ == "__main__":
    # Everything is closed and sent; a regular interpreter exit would wait for threads of libraries.
    os._exit(main())
