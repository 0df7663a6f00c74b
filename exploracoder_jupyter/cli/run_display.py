"""Runs an exploration in this process and displays it on standard error; handles Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from exploracoder_jupyter.cli.output import print_code, print_note, print_result
from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.core.events import Record
    from exploracoder_jupyter.runs import Listener, RunSteering


# Handles Ctrl-C and SIGTERM during a run.
#
# The first signal asks the run to stop, which closes the trace; the second kills this process and everything it
# started. The handler runs between two bytecodes of the main thread, so it works even while the event loop is busy.

T = TypeVar("T")

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
_SHOW_CURSOR = "\x1b[?25h"


class InterruptHandler:
    """Signal handler of a run. Until `on_interrupt` is set, the first signal raises KeyboardInterrupt."""

    def __init__(self, during: str) -> None:
        self._during = during
        self.on_interrupt: Callable[[], object] | None = None
        """Called at the first signal, within the signal handler."""
        self.count = 0
        """How many signals have been received."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.count += 1
        if self.count > 1:
            _kill_all(number)
        if self.on_interrupt is None:
            raise KeyboardInterrupt
        print_note(f"Stopping: {self._during}. Interrupt again to quit immediately.")
        self.on_interrupt()


@contextmanager
def handle_interrupts(*, during: str = "closing the trace") -> Iterator[InterruptHandler]:
    """Install a handler for both signals, and restore the previous handlers at the end.

    `during` names what happens after the first signal, for the message.
    """
    handler = InterruptHandler(during)
    previous_handlers = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield handler
    finally:
        for number, previous in previous_handlers.items():
            signal.signal(number, previous)


def run_cancellable(main: Callable[[], Awaitable[T]], signals: InterruptHandler) -> T | None:
    """Run this in an event loop; the first signal cancels it, and then there is no result."""
    import anyio

    async def cancellable() -> T | None:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            signals.on_interrupt = lambda: loop.call_soon_threadsafe(scope.cancel)
            return await main()
        return None

    try:
        return anyio.run(cancellable)
    finally:
        signals.on_interrupt = None  # the loop is closed


def _kill_all(number: int) -> None:
    """Kill the siblings, which are in separate sessions, then this process."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(128 + number)


# Runs an exploration in this process and displays it on standard error; interrupts stop the run.

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


def run_with_display(
    build_order: Callable[[], _Order], execute: Callable[[_Order, Listener, RunSteering], Awaitable[_Result]]
) -> tuple[_Order, _Result]:
    """Build an order, execute it while displaying its records, and return the order and the result.

    An interrupt before the run can be stopped properly is raised as KeyboardInterrupt.
    """
    with handle_interrupts() as signals:
        try:
            order = build_order()
            import anyio

            async def main(listen: Listener) -> _Result:
                from exploracoder_jupyter import runs

                steering = runs.RunSteering()
                signals.on_interrupt = steering.stop
                return await execute(order, listen, steering)

            with progress_listener() as listen, redirect_stdout(sys.stderr):
                return order, anyio.run(main, listen)
        except ExploraError:
            raise
        except Exception as error:
            if signals.count:  # an interrupted import may raise any exception
                raise KeyboardInterrupt from error
            raise


@contextmanager
def progress_listener() -> Iterator[Callable[[Record], None]]:
    """Provide a function that displays records: in a live view on a terminal, else as lines."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from exploracoder_jupyter.cli.live_view import LiveView

        with LiveView() as view:
            yield view
    else:
        from exploracoder_jupyter.cli.live_view import EventLines

        yield EventLines(print_note)


def print_summary(summary: Mapping[str, JsonValue], *, output: str = "", results: str = "") -> None:
    """Print the verdict, the solution with its output and results if there are any, and the path of the trace."""
    from exploracoder_jupyter.core.run_state import RunState, with_summary

    solution = with_summary(RunState(), summary).offered_solution
    print_result(f"{str(summary['status']).capitalize()}: {summary.get('reason') or 'no reason was given.'}")
    if patch := summary.get("patch"):
        print_result("")
        print_code(str(patch), "diff")
        print_result(f"Apply it with: jupyter explora repo apply {summary.get('trace') or 'TRACE'}")
    elif solution:
        print_result("")
        print_code(solution)
        shown = [f"\n{heading}:\n{text}" for heading, text in (("Output", output), ("Results", results)) if text]
        print_result("\n".join([*shown, ""]))
    if summary.get("trace_problem"):
        print_note(str(summary["trace_problem"]))
    elif summary.get("trace"):
        print_result(f"Trace: {summary['trace']}")
    files = summary.get("files")
    if isinstance(files, list) and files:
        print_result("\n".join(["Files written:", *(f"  {path}" for path in files)]))
