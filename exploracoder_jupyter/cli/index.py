"""`jupyter explora index`: reads and indexes libraries, without a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.output import (
    interrupt_on_broken_pipe,
    print_json,
    print_note,
    print_result,
    show_progress,
)
from exploracoder_jupyter.core.configuration.options import add_options, settings_layer
from exploracoder_jupyter.core.messages import plural

if TYPE_CHECKING:
    from pydantic import JsonValue

    Row = Mapping[str, JsonValue]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `index`."""
    parser.add_argument("libraries", nargs="+", metavar="LIB", help="distribution or import name")
    add_options(parser, place="command", reading=True)


def execute(arguments: argparse.Namespace) -> int:
    """Index the libraries that are not indexed yet, and print statistics. Returns the exit status."""
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


def _format_index_row(row: Row) -> str:
    how = "from the cache" if row["cached"] else "read"
    library = f"{row['name']} {row['version']}".strip()
    return (
        f"{library}: {plural(int(str(row['apis'])), 'API')} {how} in {float(str(row['seconds'])):.1f} s; "
        f"{row['with_signature']:,} with a signature, {row['with_docs']:,} with documentation, "
        f"{row['with_examples']:,} with examples."
    )
