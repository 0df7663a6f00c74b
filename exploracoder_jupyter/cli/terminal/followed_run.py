"""A run in this process, followed on standard error: live on a terminal, as lines elsewhere; interrupts stop it."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TypeVar

from exploracoder_jupyter.cli.terminal.interrupts import Interrupts, interrupts
from exploracoder_jupyter.cli.terminal.standard_streams import note
from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from exploracoder_jupyter.core.events import Record
    from exploracoder_jupyter.runs import Listener, RunSteering

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


def followed(
    ordered: Callable[[], _Order], carry_out: Callable[[_Order, Listener, RunSteering], Awaitable[_Result]]
) -> tuple[_Order, _Result]:
    """Make an order, carry it out and show its records meanwhile; the order and what came of it.

    Raises:
        KeyboardInterrupt: interrupted before the run could be stopped in order.
        ExploraError: from the two.
    """
    with interrupts() as taken:
        try:
            order = ordered()
            with progress_listener() as listen, redirect_stdout(sys.stderr):
                return order, _run(order, carry_out, listen, taken)
        except ExploraError:
            raise
        except Exception as error:
            if taken.came:  # an import that is interrupted fails in ways of its own
                raise KeyboardInterrupt from error
            raise


def _run(
    order: _Order,
    carry_out: Callable[[_Order, Listener, RunSteering], Awaitable[_Result]],
    listen: Listener,
    taken: Interrupts,
) -> _Result:
    import anyio

    from exploracoder_jupyter import runs

    async def main() -> _Result:
        steering = runs.RunSteering()
        taken.answer = steering.stop
        return await carry_out(order, listen, steering)

    return anyio.run(main)


@contextmanager
def progress_listener() -> Iterator[Callable[[Record], None]]:
    """Something that shows records: live on a terminal, else as lines."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from exploracoder_jupyter.cli.terminal.live_view import LiveView

        with LiveView() as view:
            yield view
    else:
        from exploracoder_jupyter.cli.terminal.event_lines import Lines

        yield Lines(note)
