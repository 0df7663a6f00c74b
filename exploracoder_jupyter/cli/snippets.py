"""`jupyter explora snippets`: lists and removes stored code snippets."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_code, print_json, print_note, print_result
from exploracoder_jupyter.core.messages import plural

if TYPE_CHECKING:
    from pydantic import JsonValue

    Row = Mapping[str, JsonValue]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "library",
        nargs="?",
        metavar="LIB",
        help="only snippets of this library (distribution or import name), with their code",
    )
    parser.add_argument("--clear", action="store_true", help="remove the snippets")


def execute(arguments: argparse.Namespace) -> int:
    """List or remove stored snippets. Returns the exit status: 1 if there is nothing to list."""
    from exploracoder_jupyter import runs
    from exploracoder_jupyter.core.configuration.sources import snippets_path

    if arguments.clear:
        removed = runs.clear_snippets(arguments.library)
        if arguments.json:
            print_json({"path": str(snippets_path()), "removed": removed})
        else:
            print_result(f"Removed {plural(removed, 'snippet')} from {snippets_path()}.")
        return 0
    rows: list[Row] = list(runs.snippets(arguments.library))
    if arguments.json:
        print_json({"path": str(snippets_path()), "snippets": [dict(row) for row in rows]})
    else:
        for row in rows:
            day = datetime.fromtimestamp(float(str(row["used_at"])))
            title = " ".join(str(row["title"]).split())
            print_result(f"{row['id']}  {row['library']} {row['version']}  {day:%Y-%m-%d}  {title}")
            if arguments.library:
                print_code("\n".join(f"    {line}" for line in str(row["code"]).splitlines()))
        print_note(f"{plural(len(rows), 'snippet')} in {snippets_path()}.")
    return 0 if rows else 1
