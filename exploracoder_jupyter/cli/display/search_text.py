"""Prints search results: as plain lines, or styled on a terminal.

Plain standard output contains only results; then the summary of the search goes to standard error.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exploracoder_jupyter.cli.display.standard_streams import highlighted, print_note, print_result, write_line
from exploracoder_jupyter.core.message_formatting import one_line, plural
from exploracoder_jupyter.text.terminal_text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = Mapping[str, Any]
"""The object of `search --json`, or one of its results."""

_MAX_SUMMARY = 100
_MAX_DETAIL = 160


def print_results(answer: Row, *, details: bool) -> None:
    """Print the results; `details` adds the parameters and the first example of each."""
    if sys.stdout.isatty():
        _print_styled(answer, details=details)
        return
    print_note(search_summary(answer))
    print_result("\n".join(_format_plain(row, details=details) for row in answer["results"]) or "Nothing was found.")


def search_summary(answer: Row) -> str:
    """Summarize the search, e.g. `networkx 3.6.1: 1,242 APIs, searched in 0.3 s`."""
    libraries = ", ".join(f"{row['name']} {row['version']}".strip() for row in answer["libraries"])
    fresh = [row["name"] for row in answer["libraries"] if not row["cached"]]
    how = f"read and searched in {answer['seconds']:.1f} s" if fresh else f"searched in {answer['seconds']:.1f} s"
    return f"{libraries}: {plural(answer['apis'], 'API')}, {how}"


def _format_plain(row: Row, *, details: bool) -> str:
    lines = [f"{row['path']}{row['signature']}"]
    if summary := one_line(row["description"], _MAX_SUMMARY):
        lines.append(f"    {summary}")
    if details:
        lines += [f"    {'  '.join(filter(None, detail))}" for detail in _details(row)]
        lines += [textwrap.indent(code, "        ") for code in row["examples"][:1]]
    return "\n".join(lines)


def _details(row: Row) -> Iterator[tuple[str, str]]:
    if row["deprecated"]:
        yield "Deprecated:", one_line(row["deprecated"], _MAX_DETAIL)
    for parameter in row["parameters"]:
        if parameter["type"] or parameter["about"]:
            yield one_line(_format_parameter(parameter), _MAX_DETAIL), one_line(parameter["about"], _MAX_DETAIL)
    if row["returns"]:
        yield "Returns:", one_line(row["returns"], _MAX_DETAIL)


def _format_parameter(parameter: Mapping[str, str]) -> str:
    kind = f": {parameter['type']}" if parameter["type"] else ""
    default = f" = {parameter['default']}" if parameter["default"] else ""
    return f"{parameter['name']}{kind}{default}"


def _print_styled(answer: Row, *, details: bool) -> None:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    screen = Console(file=sys.stdout)
    results = Table.grid(padding=(0, 1))
    for number, row in enumerate(answer["results"], 1):
        results.add_row(Text(f"{number}.", "dim", justify="right"), Group(*_format_styled(row, details=details)))
    with screen.capture() as captured:
        screen.print(Text(printable(search_summary(answer)), "dim"))
        screen.print(results if answer["results"] else "Nothing was found.")
    write_line(sys.stdout, captured.get().rstrip("\n"))


def _format_styled(row: Row, *, details: bool) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    head = Text.assemble((printable(row["path"]), "bold"), (printable(row["signature"]), "cyan"))
    yield head.append("  deprecated", "yellow") if row["deprecated"] else head
    if row["description"]:
        yield Text(printable(" ".join(row["description"].split())))
    if details:
        yield from (Text.assemble(printable(label), "  ", (printable(text), "dim")) for label, text in _details(row))
        for code in row["examples"][:1]:
            yield Padding(highlighted(code), (0, 0, 1, 3))
