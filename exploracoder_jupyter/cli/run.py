"""`jupyter explora run`: an exploration from the command line, in this process.

Progress goes to standard error, live on a terminal and as lines elsewhere; the result goes to standard output.
Exit status: 0 `solved`, and `unchecked` where no check was asked for and no output judged; 3 after an internal error,
with what the run had found by then; 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.task_argument import read_check, read_task
from exploracoder_jupyter.cli.terminal.followed_run import followed
from exploracoder_jupyter.cli.terminal.standard_streams import emit, note, say, show_code
from exploracoder_jupyter.core.errors import InternalError, UsageError
from exploracoder_jupyter.core.options import add_options, check_resume, layer

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.runs import Listener, Order, RunSteering, Summary


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument("taskfile", nargs="?", metavar="TASKFILE", help="file with the task; - reads standard input")
    parser.add_argument(
        "-t", "--task", action="append", default=[], metavar="TEXT", help="the task itself, instead of a file"
    )
    parser.add_argument(
        "--library",
        nargs="+",
        action="extend",
        metavar="LIB",
        help="libraries to explore, by distribution or import name",
    )
    add_options(parser, place="command")


def execute(arguments: argparse.Namespace) -> int:
    """Run the exploration and show its result. Returns the exit status.

    Raises:
        ExploraError: it could not be run.
    """
    try:
        order, summary = followed(lambda: _order(arguments), _run)
    except InternalError as error:
        if error.summary and not arguments.json:
            show(error.summary)
        raise
    if arguments.json:
        emit(summary)
    else:
        show(summary)
    return status(summary, checked=order.task.check is not None)


def status(summary: Mapping[str, JsonValue], *, checked: bool) -> int:
    """0 for a solution as good as was asked for, and a whole trace; else 1.

    `unchecked` is good where no check was given, and the solution was tried on no generated inputs.
    """
    if summary.get("trace_problem"):
        return 1
    good = ("solved",) if checked or summary.get("tests") else ("solved", "unchecked")
    return 0 if summary["status"] in good else 1


def _order(arguments: argparse.Namespace) -> Order:
    text, check = _task(arguments), read_check(arguments.check)
    check_installed(arguments.library or (), arguments)

    from exploracoder_jupyter.core.types import Task
    from exploracoder_jupyter.runs import Order

    task = Task(text, tuple(dict.fromkeys(arguments.library or ())), check=check, solution_name=arguments.name)
    order = Order(task, (layer(arguments),))
    if arguments.resume is None:
        return order

    from exploracoder_jupyter.runs import resumed

    cell, hint = getattr(arguments, "from") or "", arguments.hint or ""
    return resumed(order, Path(arguments.resume), cell=cell, hint=hint, confirm=_confirm)


def _confirm(address: str) -> bool:
    """Ask on a terminal whether the endpoint that only a trace names may be used; elsewhere the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    note(f"The trace names the model endpoint {address}, which your settings do not name.")
    note("Send the task, code, outputs and any API key that you have configured to it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _task(arguments: argparse.Namespace) -> str:
    """The task; where a run is resumed, its trace has it.

    Raises:
        UsageError: there is none, or there are two; no library is named; or an option lacks the other that it is for.
    """
    check_resume(arguments)
    if arguments.resume is None:
        if not arguments.library:
            raise UsageError("No library is named.", remedy="Name at least one, e.g. --library networkx.")
        return read_task(arguments.task, arguments.taskfile)
    if arguments.task or arguments.taskfile is not None:
        raise UsageError("The task of a run that is resumed is in its trace.", remedy="Leave the task out.")
    return ""


async def _run(order: Order, listen: Listener, steering: RunSteering) -> Summary:
    from exploracoder_jupyter import runs

    return await runs.run(order, listen, steering=steering)


def show(summary: Mapping[str, JsonValue]) -> None:
    """The verdict, the solution if there is one to offer, and where the trace is."""
    from exploracoder_jupyter.frontend.panel.panel_state import State, finished

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
