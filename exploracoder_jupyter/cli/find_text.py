"""Prints the packages that `find` found: plain lines, or styled on a terminal.

Plain standard output contains only results; then the summary of the search goes to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.cli.output import print_note, print_result, write_line
from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.text.characters import printable

Row = Mapping[str, Any]
"""The object of `find --json`, or a part of it."""

_MAX_LINE = 100
_MAX_SIGNATURE = 60


def print_packages(answer: Row) -> None:
    """Print the packages, each with its APIs and the line that shows why."""
    if sys.stdout.isatty():
        _print_styled(answer)
        return
    print_note(find_summary(answer))
    print_result("\n".join(line for row in answer["packages"] for line, _ in _lines(row)) or "Nothing was found.")


def find_summary(answer: Row) -> str:
    """Summarize the search, e.g. `217 packages with 92,129 APIs, searched in 0.3 s`."""
    how = f"searched in {answer['seconds']:.1f} s"
    if answer["newly_read"]:
        how = f"{answer['newly_read']:,} of them read and all {how}"
    return f"{plural(answer['read'], 'package')} with {plural(answer['apis'], 'API')}, {how}"


def _lines(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the lines about a package with the styles of rich."""
    name = f"{row['name']} {row['version']}"
    imported = f" (import {row['module']})" if row["module"] not in ("", row["name"]) else ""
    about = f": {one_line(row['summary'], _MAX_LINE)}" if row["summary"] else ""
    yield f"{name}{imported}{about}", "bold"
    for api in row["apis"]:
        signature = one_line(api["signature"], _MAX_SIGNATURE)
        yield f"    {api['path']}{signature}", "cyan"
        if api["description"]:
            yield f"        {one_line(api['description'], _MAX_LINE)}", ""


def _print_styled(answer: Row) -> None:
    from rich.console import Console
    from rich.text import Text

    screen = Console(file=sys.stdout)
    with screen.capture() as captured:
        screen.print(Text(printable(find_summary(answer)), "dim"))
        for number, row in enumerate(answer["packages"], 1):
            for at, (line, style) in enumerate(_lines(row)):
                screen.print(Text(printable(f"{number}. {line}" if at == 0 else line), style))
        if not answer["packages"]:
            screen.print("Nothing was found.")
    write_line(sys.stdout, captured.get().rstrip("\n"))
