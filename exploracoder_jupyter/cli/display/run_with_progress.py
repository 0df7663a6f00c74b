"""Runs an exploration in this process and displays it on standard error; interrupts stop the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TypeVar

from exploracoder_jupyter.cli.display.interrupts import handle_interrupts
from exploracoder_jupyter.cli.display.standard_streams import print_note
from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from exploracoder_jupyter.core.events import Record
    from exploracoder_jupyter.runs import Listener, RunSteering

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


def run_with_display(
    build_order: Callable[[], _Order], execute: Callable[[_Order, Listener, RunSteering], Awaitable[_Result]]
) -> tuple[_Order, _Result]:
    """Build an order, execute it while displaying its records, and return the order and the result.

    An interrupt before the run can be stopped properly is raised as KeyboardInterrupt.
    """
    import anyio

    with handle_interrupts() as signals:
        try:
            order = build_order()

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
        from exploracoder_jupyter.cli.display.live_run_view import LiveView

        with LiveView() as view:
            yield view
    else:
        from exploracoder_jupyter.cli.display.log_lines import EventLines

        yield EventLines(print_note)
