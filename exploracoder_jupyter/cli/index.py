"""`jupyter explora index` and `search`: index libraries and search their APIs, without a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, cast

from exploracoder_jupyter.cli.display import search_text
from exploracoder_jupyter.cli.display.operation_progress import show_progress
from exploracoder_jupyter.cli.display.standard_streams import print_json, print_note, print_result
from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.exit_on_broken_pipe import interrupt_on_broken_pipe
from exploracoder_jupyter.core.configuration.explore_options import add_reading_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.message_formatting import plural

if TYPE_CHECKING:
    from pydantic import JsonValue

    Row = Mapping[str, JsonValue]

_MAX_RESULTS = 1000


def configure_index(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `index`."""
    parser.add_argument("libraries", nargs="+", metavar="LIB", help="distribution or import name")
    add_reading_options(parser, place="command")


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `search`."""
    parser.add_argument("library", metavar="LIB", help="distribution or import name; separate several with commas")
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for, in words")
    parser.add_argument("-k", type=int, default=20, metavar="K", help=f"APIs to show, 1 to {_MAX_RESULTS} (20)")
    parser.add_argument(
        "-v", "--examples", action="store_true", help="also show the parameters and the first example of each API"
    )
    add_reading_options(parser, place="command")


def index(arguments: argparse.Namespace) -> int:
    """Index the libraries that are not indexed yet, and print statistics. Returns the exit status.

    Raises:
        ExploraError: a library is unknown or cannot be imported.
    """
    check_installed(arguments.libraries, arguments)
    import anyio

    from exploracoder_jupyter import runs

    async def main() -> Sequence[Row]:
        return await runs.index(
            arguments.libraries, layers=[settings_layer(arguments)], progress=advance, say=notices.append
        )

    notices: list[str] = []
    with interrupt_on_broken_pipe(), show_progress("Starting") as advance, redirect_stdout(sys.stderr):
        rows = anyio.run(main)
    for sentence in notices:
        print_note(sentence)
    if arguments.json:
        print_json({"libraries": [dict(row) for row in rows]})
    else:
        for row in rows:
            print_result(_format_index_row(row))
    return 0


def search(arguments: argparse.Namespace) -> int:
    """Show the APIs that match a query best. Returns the exit status: 1 if there are none.

    Raises:
        ExploraError: the library is unknown or cannot be imported, or `-k` is out of range.
    """
    if not 1 <= arguments.k <= _MAX_RESULTS:
        raise UsageError(
            f"-k takes a number from 1 to {_MAX_RESULTS}, not {arguments.k}.",
            remedy="Try -k 20.",
        )
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
        search_text.print_results(answer, details=arguments.examples)
    return 0 if answer["results"] else 1


def _format_index_row(row: Row) -> str:
    how = "from the cache" if row["cached"] else "read"
    library = f"{row['name']} {row['version']}".strip()
    return (
        f"{library}: {plural(int(str(row['apis'])), 'API')} {how} in {float(str(row['seconds'])):.1f} s; "
        f"{row['with_signature']:,} with a signature, {row['with_docs']:,} with documentation, "
        f"{row['with_examples']:,} with examples."
    )
