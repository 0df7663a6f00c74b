"""What a search found, as text: plain lines for pipes, with type and colour where a terminal shows it.

Lines of standard output are results and nothing else; what was searched is said there only to a terminal, to others on
standard error.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exploracoder_jupyter.cli.terminal.standard_streams import note, plain, say, write
from exploracoder_jupyter.core.truncate import one_line
from exploracoder_jupyter.core.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = Mapping[str, Any]
"""The object of `search --json`, or one of its results."""

_MOST_SUMMARY = 100
_MOST_ABOUT = 160


def show(answer: Row, *, whole: bool) -> None:
    """Write what was found; `whole`: with parameters and the first example of each."""
    if sys.stdout.isatty():
        _show_styled(answer, whole=whole)
        return
    note(searched(answer))
    say("\n".join(_plain(row, whole=whole) for row in answer["results"]) or "Nothing was found.")


def searched(answer: Row) -> str:
    """`networkx 3.6.1: 1,242 APIs, searched in 0.3 s`."""
    libraries = ", ".join(f"{row['name']} {row['version']}".strip() for row in answer["libraries"])
    fresh = [row["name"] for row in answer["libraries"] if not row["cached"]]
    how = f"read and searched in {answer['seconds']:.1f} s" if fresh else f"searched in {answer['seconds']:.1f} s"
    return f"{libraries}: {plural(answer['apis'], 'API')}, {how}"


def _plain(row: Row, *, whole: bool) -> str:
    lines = [f"{row['path']}{row['signature']}"]
    if summary := one_line(row["description"], _MOST_SUMMARY):
        lines.append(f"    {summary}")
    if whole:
        lines += [f"    {'  '.join(filter(None, detail))}" for detail in _details(row)]
        lines += [textwrap.indent(code, "        ") for code in row["examples"][:1]]
    return "\n".join(lines)


def _details(row: Row) -> Iterator[tuple[str, str]]:
    """What is told, and what of it."""
    if row["deprecated"]:
        yield "Deprecated:", one_line(row["deprecated"], _MOST_ABOUT)
    for parameter in row["parameters"]:
        if parameter["type"] or parameter["about"]:
            yield one_line(_declared(parameter), _MOST_ABOUT), one_line(parameter["about"], _MOST_ABOUT)
    if row["returns"]:
        yield "Returns:", one_line(row["returns"], _MOST_ABOUT)


def _declared(parameter: Mapping[str, str]) -> str:
    """`cutoff: int = None`."""
    kind = f": {parameter['type']}" if parameter["type"] else ""
    default = f" = {parameter['default']}" if parameter["default"] else ""
    return f"{parameter['name']}{kind}{default}"


def _show_styled(answer: Row, *, whole: bool) -> None:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    screen = Console(file=sys.stdout)
    results = Table.grid(padding=(0, 1))
    for number, row in enumerate(answer["results"], 1):
        results.add_row(Text(f"{number}.", "dim", justify="right"), Group(*_styled(row, whole=whole)))
    with screen.capture() as captured:
        screen.print(Text(plain(searched(answer)), "dim"))
        screen.print(results if answer["results"] else "Nothing was found.")
    write(sys.stdout, captured.get().rstrip("\n"))


def _styled(row: Row, *, whole: bool) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.syntax import Syntax
    from rich.text import Text

    head = Text.assemble((plain(row["path"]), "bold"), (plain(row["signature"]), "cyan"))
    yield head.append("  deprecated", "yellow") if row["deprecated"] else head
    if row["description"]:
        yield Text(plain(" ".join(row["description"].split())))
    if whole:
        yield from (Text.assemble(plain(what), "  ", (plain(said), "dim")) for what, said in _details(row))
        for code in row["examples"][:1]:
            shown = Syntax(plain(code), "python", theme="ansi_dark", background_color="default", word_wrap=True)
            yield Padding(shown, (0, 0, 1, 3))
