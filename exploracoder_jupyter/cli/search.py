"""`jupyter explora search`: finds the APIs of libraries that match a query, without a run."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, cast

from exploracoder_jupyter.cli import output
from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.output import interrupt_on_broken_pipe, print_json, print_note, show_progress
from exploracoder_jupyter.core.configuration.options import add_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

_MAX_RESULTS = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `search`."""
    parser.add_argument("library", metavar="LIB", help="distribution or import name; separate several with commas")
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for, in words")
    parser.add_argument("-k", type=int, default=20, metavar="K", help=f"APIs to show, 1 to {_MAX_RESULTS} (20)")
    parser.add_argument(
        "-v", "--examples", action="store_true", help="also show the parameters and the first example of each API"
    )
    add_options(parser, place="command", reading=True)


def execute(arguments: argparse.Namespace) -> int:
    """Show the APIs that match a query best. Returns the exit status: 1 if there are none."""
    if not 1 <= arguments.k <= _MAX_RESULTS:
        raise UsageError(f"-k takes a number from 1 to {_MAX_RESULTS}, not {arguments.k}.", remedy="Try -k 20.")
    query = " ".join(arguments.query)
    if not query.strip():
        raise UsageError("The query is empty.", remedy="Describe what to look for.")
    libraries = [name for name in arguments.library.split(",") if name]
    if not libraries:
        raise UsageError("No library is named.", remedy="Name an installed library, as in: search networkx QUERY.")
    check_installed(libraries, arguments)
    import anyio

    from exploracoder_jupyter import runs

    async def main() -> dict[str, JsonValue]:
        return await runs.search(libraries, query, arguments.k, layers=[settings_layer(arguments)], progress=advance)

    with interrupt_on_broken_pipe(), show_progress("Starting") as advance, redirect_stdout(sys.stderr):
        answer = anyio.run(main)
    if arguments.json:
        print_json(answer)
    else:
        for sentence in cast("list[str]", answer["notices"]):
            print_note(sentence)
        output.print_results(answer, details=arguments.examples)
    return 0 if answer["results"] else 1
