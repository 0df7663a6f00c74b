"""`jupyter explora run`: runs an exploration from the command line, in this process.

Progress goes to standard error, live on a terminal and as lines elsewhere; the result goes to standard output.
Exit status: 0 for `solved`, and for `unchecked` if no check was given and no outputs were judged; 3 after an internal
error, with the results up to then; 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.early_library_check import check_installed, check_writable
from exploracoder_jupyter.cli.output import print_json, print_note, show_progress
from exploracoder_jupyter.cli.run_display import print_summary, run_with_display
from exploracoder_jupyter.core.configuration.options import (
    add_options,
    settings_layer,
    validate_repository_options,
    validate_resume_options,
)
from exploracoder_jupyter.core.errors import InternalError, UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.task import read_code, read_task

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.api import Exploration
    from exploracoder_jupyter.runs import Listener, Order, RunSteering


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument("taskfile", nargs="?", metavar="TASKFILE", help="file with the task; - for standard input")
    parser.add_argument(
        "-t", "--task", action="append", default=[], metavar="TEXT", help="the task itself, instead of a file"
    )
    parser.add_argument(
        "--library",
        nargs="+",
        action="extend",
        metavar="LIB",
        help="libraries to explore (distribution or import names)",
    )
    add_options(parser, place="command")


def execute(arguments: argparse.Namespace) -> int:
    """Run the exploration and print its result. Returns the exit status."""

    async def run(order: Order, listen: Listener, steering: RunSteering) -> Exploration:
        from exploracoder_jupyter.api.functions import execute_order

        return await execute_order(order, listen, steering)

    try:
        order, found = run_with_display(lambda: _build_order(arguments), run)
    except InternalError as error:
        if error.summary and not arguments.json:
            print_summary(error.summary)
        raise
    if arguments.json:
        print_json(found.summary)
    else:
        from exploracoder_jupyter.core.run_state.run_wording import describe_results, describe_usage
        from exploracoder_jupyter.ipython_extension.result_card.card import outputs_as_text
        from exploracoder_jupyter.trace.cells import solution_outputs

        output = outputs_as_text(solution_outputs(found.state))
        print_summary(found.summary, output=output, results=describe_results(found.state))
        if not sys.stderr.isatty():  # the live view has shown it
            print_note(f"Cost: {describe_usage(found.state)}.")
        if found.status == "stopped" and found.trace:
            print_note(f"To continue: jupyter explora run --resume {system.quote(str(found.trace))}")
    return exit_status(found.summary, checked=order.task.check is not None)


def exit_status(summary: Mapping[str, JsonValue], *, checked: bool) -> int:
    """Return 0 if the run was successful and its trace is complete, else 1.

    `unchecked` counts as success if no check was given and the solution was not tested on generated inputs.
    """
    if summary.get("trace_problem"):
        return 1
    good = ("solved",) if checked or summary.get("tests") else ("solved", "unchecked")
    return 0 if summary["status"] in good else 1


def _build_order(arguments: argparse.Namespace) -> Order:
    text, check, setup = _task_text(arguments), read_code(arguments.check, "check"), read_code(arguments.setup, "setup")
    if not arguments.library and arguments.repo is None and arguments.resume is None:
        arguments.library = [_choose_library(text, arguments)]
    check_installed(arguments.library or (), arguments)
    if arguments.resume is None:
        check_writable(arguments)

    from exploracoder_jupyter.core.types import RepositoryTask, Task
    from exploracoder_jupyter.runs import Order, in_repository

    libraries = tuple(dict.fromkeys(arguments.library or ()))
    task = Task(text, libraries, check=check, solution_name=arguments.name, setup=setup or "")
    order = Order(task, (settings_layer(arguments),))
    if arguments.repo is not None:
        tests, command = tuple(arguments.test_selector or ()), arguments.test_command or ""
        order = in_repository(order, Path(arguments.repo), RepositoryTask(arguments.target, tests, command))
    if arguments.resume is None:
        return order

    from exploracoder_jupyter.runs import resume_order

    cell, hint = getattr(arguments, "from") or "", arguments.hint or ""
    return resume_order(order, Path(arguments.resume), cell=cell, hint=hint, confirm=_confirm)


def _choose_library(task: str, arguments: argparse.Namespace) -> str:
    from exploracoder_jupyter.runs import choose_library

    with show_progress("Looking for a library") as advance:
        choice = choose_library(task, layers=[settings_layer(arguments)], advance=advance)
    print_note(f"{choice.sentence} To choose another: --library LIB.")
    return choice.module


def _confirm(address: str) -> bool:
    """Ask on a terminal whether to use an endpoint that only the trace specifies; without a terminal, return False."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print_note(f"The trace uses the model endpoint {address}, which is not in your settings.")
    print_note("Send the task, code, outputs and any API key that you have configured to it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _task_text(arguments: argparse.Namespace) -> str:
    validate_resume_options(arguments)
    validate_repository_options(arguments, arguments.library or ())
    if arguments.resume is None:
        return read_task(arguments.task, arguments.taskfile)
    if arguments.task or arguments.taskfile is not None:
        raise UsageError("A resumed run takes its task from the trace.", remedy="Omit the task.")
    return ""
