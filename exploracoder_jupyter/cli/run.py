"""`jupyter explora run`: an exploration from the command line, in this process.

Progress goes to standard error, live on a terminal and as lines elsewhere; the result goes to standard output.
Exit status: 0 `solved`, and `unchecked` where no check was asked for and no output judged; 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.interrupts import Interrupts, interrupts
from exploracoder_jupyter.cli.output import emit, note, say, show_code
from exploracoder_jupyter.cli.task import read_check, read_task
from exploracoder_jupyter.errors import ExploraError
from exploracoder_jupyter.options import add_options, layer

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.events import Record
    from exploracoder_jupyter.session import Order

    Summary = dict[str, JsonValue]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument("taskfile", nargs="?", metavar="TASKFILE", help="file with the task; - reads standard input")
    parser.add_argument("-t", "--task", metavar="TEXT", help="the task itself, instead of a file")
    parser.add_argument(
        "--library",
        nargs="+",
        action="extend",
        required=True,
        metavar="LIB",
        help="libraries to explore, by distribution or import name",
    )
    add_options(parser, place="command")


def execute(arguments: argparse.Namespace) -> int:
    """Run the exploration and show its result. Returns the exit status.

    Raises:
        ExploraError: it could not be run.
    """
    with interrupts() as taken:
        try:
            order, summary = _carry_out(arguments, taken)
        except ExploraError:
            raise
        except Exception as error:
            if taken.came:  # an import that is interrupted fails in ways of its own
                raise KeyboardInterrupt from error
            raise
    if arguments.json:
        emit(summary)
    else:
        _show(summary)
    return status(summary, checked=order.task.check is not None)


def status(summary: Mapping[str, JsonValue], *, checked: bool) -> int:
    """0 for a solution as good as was asked for, and a whole trace; else 1.

    `unchecked` is good where no check was given, and the solution was tried on no generated inputs.
    """
    if summary.get("trace_problem"):
        return 1
    good = ("solved",) if checked or summary.get("tests") else ("solved", "unchecked")
    return 0 if summary["status"] in good else 1


def _carry_out(arguments: argparse.Namespace, taken: Interrupts) -> tuple[Order, Summary]:
    order = _order(arguments)
    with _listening() as listen, redirect_stdout(sys.stderr):
        return order, _run(order, listen, taken)


def _order(arguments: argparse.Namespace) -> Order:
    text, check = read_task(arguments.task, arguments.taskfile), read_check(arguments.check)

    from exploracoder_jupyter.session import Order
    from exploracoder_jupyter.types import Task

    task = Task(text, tuple(dict.fromkeys(arguments.library)), check=check, solution_name=arguments.name)
    return Order(task, (layer(arguments),))


def _run(order: Order, listen: Callable[[Record], None], taken: Interrupts) -> Summary:
    import anyio

    from exploracoder_jupyter import session

    async def main() -> Summary:
        steering = session.RunSteering()
        taken.answer = steering.stop
        return await session.run(order, listen, steering=steering)

    return anyio.run(main)


@contextmanager
def _listening() -> Iterator[Callable[[Record], None]]:
    """Something that shows records: live on a terminal, else as lines."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from exploracoder_jupyter.cli.live import LiveView

        with LiveView() as view:
            yield view
    else:
        from exploracoder_jupyter.cli.lines import Lines

        yield Lines(note)


def _show(summary: Mapping[str, JsonValue]) -> None:
    """The verdict, the solution if there is one to offer, and where the trace is."""
    from exploracoder_jupyter.frontend.panel import State, finished

    solution = finished(State(), summary).solution
    say(f"{str(summary['status']).capitalize()}: {summary.get('reason') or 'no reason was given.'}")
    if solution:
        say("")
        show_code(solution)
        say("")
    if summary.get("trace_problem"):
        note(str(summary["trace_problem"]))
    elif summary.get("trace"):
        say(f"Trace: {summary['trace']}")
    files = summary.get("files")
    if isinstance(files, list) and files:
        say("\n".join(["Files that it wrote:", *(f"  {path}" for path in files)]))
