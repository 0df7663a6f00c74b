"""`jupyter explora find`: which installed packages can do this? Searches all of them, without importing any."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout

from exploracoder_jupyter.cli import find_text
from exploracoder_jupyter.cli.output import (
    interrupt_on_broken_pipe,
    print_json,
    print_note,
    print_result,
    show_progress,
)
from exploracoder_jupyter.core.configuration.options import add_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError

_MAX_RESULTS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `find`."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what a package is to do, in words")
    parser.add_argument("-k", type=int, default=5, metavar="K", help=f"packages to show, 1 to {_MAX_RESULTS} (5)")
    parser.add_argument("--apis", type=int, default=3, metavar="N", help=f"APIs of each, 1 to {_MAX_RESULTS} (3)")
    parser.add_argument(
        "--choose",
        action="store_true",
        help="choose one package for the task that QUERY describes, as a run without --library does",
    )
    add_options(parser, place="command", sections=("endpoint",))
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="search the packages of this interpreter instead of those beside jupyter explora",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Show the packages that match a query best. Returns the exit status: 1 if there are none."""
    for flag, value in (("-k", arguments.k), ("--apis", arguments.apis)):
        if not 1 <= value <= _MAX_RESULTS:
            raise UsageError(f"{flag} takes a number from 1 to {_MAX_RESULTS}, not {value}.", remedy="Leave it out.")
    from exploracoder_jupyter import runs

    query = " ".join(arguments.query)
    if arguments.choose:
        return _choose(query, arguments)
    with interrupt_on_broken_pipe(), show_progress("Looking for new packages") as advance, redirect_stdout(sys.stderr):
        answer = runs.find(query, packages=arguments.k, apis=arguments.apis, python=arguments.python, progress=advance)
    if arguments.json:
        print_json(answer)
    else:
        find_text.print_packages(answer)
        for sentence in answer["notices"] if isinstance(answer["notices"], list) else ():
            print_note(str(sentence))
    return 0 if answer["packages"] else 1


def _choose(task: str, arguments: argparse.Namespace) -> int:
    from exploracoder_jupyter import runs

    with interrupt_on_broken_pipe(), show_progress("Looking for new packages") as advance, redirect_stdout(sys.stderr):
        choice = runs.choose_library(task, layers=[settings_layer(arguments)], advance=advance)
    if arguments.json:
        print_json(
            {
                "library": choice.module,
                "name": choice.name,
                "version": choice.version,
                "why": choice.why,
                "others": [*choice.others],
                "sentence": choice.sentence,
            }
        )
    else:
        print_result(choice.module)
        print_note(choice.sentence)
    return 0
