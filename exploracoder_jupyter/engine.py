"""One run in a process of its own: `python -m exploracoder_jupyter.engine`, messages on its standard streams.

Standard output carries the protocol and nothing else: it is taken away from everybody at the start, so that a library
that prints cannot corrupt it. Controls come in on standard input, whose end means that the kernel is gone: the run is
stopped and its trace closed, as by `Stop` and by SIGTERM. Whatever happens, the process is gone within seconds of
being asked to end.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from pydantic import JsonValue, ValidationError

from exploracoder_jupyter.core.errors import InternalError, UsageError, as_known
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.protocol import engine_messages
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.protocol.engine_messages import (
    CellsChanged,
    Choose,
    Failed,
    Finished,
    FromEngine,
    KernelForked,
    RecordMessage,
    Replan,
    Retry,
    Skip,
    Start,
    Stop,
    ToEngine,
    TraceAt,
    decode_to_engine,
    encode,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.runs import Given, KernelLine, Order, Replay, RunSteering

GRACE = 4.5
"""Seconds between being asked to end and being gone, whatever is still under way."""


class Outbox:
    """Writes messages from a thread, so that a reader that is busy does not hold up the run."""

    def __init__(self, pipe: TextIO, *, broken: Callable[[], None]) -> None:
        """`broken` is called once when nobody reads any more."""
        self._pipe = pipe
        self._broken = broken
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True, name="engine-outbox")
        self._thread.start()

    def send(self, message: FromEngine) -> None:
        """Queue a message."""
        self._queue.put(encode(message))

    def close(self, *, seconds: float) -> None:
        """Wait until everything is written, at most so long."""
        self._queue.put(None)
        if threading.current_thread() is not self._thread:  # it may be the one that found the pipe broken
            self._thread.join(seconds)

    def _write(self) -> None:
        try:
            while (line := self._queue.get()) is not None:
                self._pipe.write(line)
                self._pipe.flush()
        except OSError:
            self._broken()


class Engine:
    """Takes the order and the controls, runs the session, says what happens."""

    def __init__(self, inbox: TextIO, outbox: TextIO) -> None:
        self._inbox = inbox
        self._outbox = Outbox(outbox, broken=self.stop)
        self._steering: RunSteering | None = None
        self._asked_early: list[Callable[[RunSteering], None]] = []
        self._steers = threading.Lock()
        self._line: KernelLine | None = None
        self._asked = False
        self._variables: str | None = None

    def run(self) -> int:
        """Do the ordered run.

        The exit status is 0 when it was made, whatever its result, 3 after an internal error, and 2 otherwise.
        """
        try:
            start = self._order()
            self._variables = start.variables
            threading.Thread(target=self._take_controls, daemon=True, name="engine-inbox").start()
            last: Finished | Failed = Finished(summary=self._session(start))
            status = 0
        except Exception as error:
            known = as_known(error)
            if isinstance(known, InternalError):
                traceback.print_exception(error)
            last = Failed(error=known.message, remedy=known.remedy)
            status = 3 if isinstance(known, InternalError) else 2
        self._last_word(last)
        self._leave_nothing()
        return status

    def stop(self) -> None:
        """End the run, keep what was learned, and be gone within `GRACE` seconds. From any thread or signal handler."""
        steering = self._steering
        if not self._asked:
            self._asked = True
            _gone_after(GRACE, first=self._leave_nothing)
        if steering is None:
            self._last_word(Failed(error="It was stopped before it began."))
            self._leave_nothing()
            os._exit(0)
        steering.stop()

    def trace_begun(self, path: Path) -> None:
        """Tell where the trace is."""
        self._outbox.send(TraceAt(path=str(path)))

    def _last_word(self, message: Finished | Failed) -> None:
        """A reader may be slow; once an end was asked for there is less time."""
        self._outbox.send(message)
        self._outbox.close(seconds=2.0 if self._asked else GRACE)

    def _leave_nothing(self) -> None:
        """The kernel removes the sent variables too, unless it was killed."""
        if self._variables:
            shutil.rmtree(self._variables, ignore_errors=True)

    def _session(self, start: Start) -> dict[str, JsonValue]:
        """Importing the session takes a second or more, in which a stop must work already: it is imported here."""
        import anyio

        from exploracoder_jupyter.runs import KernelLine, RunSteering, replay, run

        steering, line = RunSteering(), KernelLine(self._outbox.send)
        self._line = line
        self._steered_by(steering)

        async def ordered() -> dict[str, JsonValue]:
            cells = self._cells_changed if start.cells else None
            order = _order(start, line)
            if start.replay:
                again = _replay(start.replay, order)
                return dict(await replay(again, self._listen, steering=steering, begun=self.trace_begun, cells=cells))
            return dict(await run(order, self._listen, steering=steering, begun=self.trace_begun, cells=cells))

        return anyio.run(ordered)

    def _listen(self, record: Record) -> None:
        self._outbox.send(RecordMessage(record=record))

    def _cells_changed(self, changes: list[CellChange]) -> None:
        self._outbox.send(CellsChanged(changes=changes))

    def _order(self) -> Start:
        line = self._inbox.readline()
        try:
            message = decode_to_engine(line)
        except ValidationError as error:
            raise UsageError("The first line was no order.", remedy="The engine is started by the magic.") from error
        if not isinstance(message, Start):
            raise UsageError("The first line was no order.", remedy="The engine is started by the magic.")
        return message

    def _take_controls(self) -> None:
        for line in self._inbox:
            try:
                message = decode_to_engine(line)
            except ValidationError:
                traceback.print_exc()
                continue
            self._take(message)
        if self._line:
            self._line.gone()
        self.stop()

    def _take(self, message: ToEngine) -> None:
        match message:
            case Stop():
                self.stop()
            case KernelForked() if self._line:
                self._line.answered(message)
            case Skip():
                self._steer(lambda steering: steering.skip(message.subtask))
            case Retry():
                self._steer(lambda steering: steering.retry(message.subtask, message.hint))
            case Choose():
                self._steer(lambda steering: steering.choose(message.candidate))
            case Replan():
                self._steer(lambda steering: steering.replan(message.titles))

    def _steer(self, ask: Callable[[RunSteering], None]) -> None:
        """Ask this of the run, as soon as its session is imported."""
        with self._steers:
            if self._steering:
                ask(self._steering)
            else:
                self._asked_early.append(ask)

    def _steered_by(self, steering: RunSteering) -> None:
        with self._steers:
            self._steering = steering
            for ask in self._asked_early:
                ask(steering)


def main() -> int:
    """Run one order from standard input."""
    engine = Engine(*_claim_streams())

    def asked(_number: int, _frame: FrameType | None) -> None:
        engine.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)
    return engine.run()


def _claim_streams() -> tuple[TextIO, TextIO]:
    """Private copies of the standard streams; what libraries print goes to standard error, what they read is empty."""
    inbox = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace")
    outbox = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return inbox, outbox


def _gone_after(seconds: float, *, first: Callable[[], None]) -> None:
    """A thread of a library, or one that cannot be cancelled, must not keep the process."""

    def go() -> None:
        first()
        os._exit(1)

    timer = threading.Timer(seconds, go)
    timer.daemon = True
    timer.start()


def _order(start: Start, line: KernelLine) -> Order:
    from exploracoder_jupyter.runs import Order, resumed

    order = Order(
        task=Task(
            text=start.task,
            libraries=tuple(start.libraries),
            uses=tuple(start.uses),
            check=start.check,
            solution_name=start.solution_name,
        ),
        layers=tuple(start.layers),
        workdir=Path(start.workdir),
        notebook=Path(start.notebook) if start.notebook else None,
        cell=start.cell,
        variables=Path(start.variables) if start.variables else None,
        unsent=start.unsent,
        live=line.kernel(start.live) if start.live else None,
        mentioned=tuple(start.live.mentioned) if start.live else (),
        steerable=True,
        given=_given(start.given) if start.given else None,
    )
    resume = start.resume
    return resumed(order, Path(resume.trace), cell=resume.cell, hint=resume.hint) if resume else order


def _replay(wanted: engine_messages.Replay, order: Order) -> Replay:
    from exploracoder_jupyter.runs import replayed

    trace, out = Path(order.workdir, wanted.trace), Path(order.workdir, wanted.out)
    return replayed(trace, out, delay=wanted.delay, kernel=wanted.kernel, order=replace(order, steerable=False))


def _given(given: engine_messages.Given) -> Given:
    from exploracoder_jupyter.runs import Carried, Given

    last = len(given.code) - 1
    carried = (Carried(code, chosen=given.chosen and place == last) for place, code in enumerate(given.code))
    return Given(tuple(given.plan), tuple(carried), given.hint)


if __name__ == "__main__":
    # Everything is closed and said; the interpreter's own end would wait for threads of libraries.
    os._exit(main())
