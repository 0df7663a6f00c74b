"""`jupyter explora snippets`: what is kept of code that ran, and its removal."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.terminal.standard_streams import emit, note, say, show_code

if TYPE_CHECKING:
    from pydantic import JsonValue

    Row = Mapping[str, JsonValue]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "library", nargs="?", metavar="LIB", help="only of this library, with the code; by distribution or import name"
    )
    parser.add_argument("--clear", action="store_true", help="remove them")


def execute(arguments: argparse.Namespace) -> int:
    """List or remove what is kept. Returns the exit status: 1 where there is nothing to list.

    Raises:
        UsageError: the file cannot be changed.
    """
    from exploracoder_jupyter import runs
    from exploracoder_jupyter.core.settings import snippets_path

    if arguments.clear:
        removed = runs.clear_snippets(arguments.library)
        if arguments.json:
            emit({"path": str(snippets_path()), "removed": removed})
        else:
            say(f"Removed {removed} from {snippets_path()}.")
        return 0
    rows: list[Row] = list(runs.snippets(arguments.library))
    if arguments.json:
        emit({"path": str(snippets_path()), "snippets": [dict(row) for row in rows]})
    else:
        _list(rows, with_code=bool(arguments.library))
        note(f"{len(rows)} kept in {snippets_path()}.")
    return 0 if rows else 1


def _list(rows: list[Row], *, with_code: bool) -> None:
    for row in rows:
        day = datetime.fromtimestamp(float(str(row["used_at"])))
        say(f"{row['id']}  {row['library']} {row['version']}  {day:%Y-%m-%d}  {' '.join(str(row['title']).split())}")
        if with_code:
            show_code("\n".join(f"    {line}" for line in str(row["code"]).splitlines()))
