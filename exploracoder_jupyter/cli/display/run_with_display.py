"""Runs an exploration in this process and displays it on standard error; interrupts stop the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TypeVar

from exploracoder_jupyter.cli.display.interrupts import handle_interrupts
from exploracoder_jupyter.cli.display.standard_streams import print_code, print_note, print_result
from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from pydantic import JsonValue

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
        from exploracoder_jupyter.cli.display.live_run_view import LiveView

        with LiveView() as view:
            yield view
    else:
        from exploracoder_jupyter.cli.display.log_lines import EventLines

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
