"""`jupyter explora index` and `search`: what is known of a library, without a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import emit, note, say
from exploracoder_jupyter.errors import UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

    Row = Mapping[str, JsonValue]

_MOST = 1000


def configure_index(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `index`."""
    parser.add_argument("libraries", nargs="+", metavar="LIB", help="by distribution or import name")


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `search`."""
    parser.add_argument("library", metavar="LIB", help="by distribution or import name")
    parser.add_argument("query", metavar="QUERY", help="what is looked for, in words")
    parser.add_argument("-k", type=int, default=20, metavar="K", help=f"how many APIs, 1 to {_MOST} (20)")


def index(arguments: argparse.Namespace) -> int:
    """Index the libraries, or find that they are indexed already. Returns the exit status.

    Raises:
        ExploraError: a library is unknown or cannot be imported.
    """
    import anyio

    from exploracoder_jupyter import session

    async def main() -> Sequence[Row]:
        return await session.index(arguments.libraries, progress=_Progress())

    with redirect_stdout(sys.stderr):
        rows = anyio.run(main)
    if arguments.json:
        emit({"libraries": [dict(row) for row in rows]})
    else:
        for row in rows:
            say(_indexed(row))
    return 0


def search(arguments: argparse.Namespace) -> int:
    """Show the APIs nearest to a query. Returns the exit status: 1 when there are none.

    Raises:
        ExploraError: the library is unknown or cannot be imported, or `-k` is out of range.
    """
    if not 1 <= arguments.k <= _MOST:
        raise UsageError(f"-k takes a number from 1 to {_MOST}, not {arguments.k}.", remedy="Give fewer, or more.")
    if not arguments.query.strip():
        raise UsageError("The query is empty.", remedy="Say in words what is looked for.")
    import anyio

    from exploracoder_jupyter import session

    with redirect_stdout(sys.stderr):
        rows: Sequence[Row] = anyio.run(session.search, arguments.library, arguments.query, arguments.k)
    if arguments.json:
        emit({"query": arguments.query, "results": [dict(row) for row in rows]})
    else:
        say("\n".join(_found(row) for row in rows) or "Nothing was found.")
    return 0 if rows else 1


class _Progress:
    """Says on standard error what is being done, at most once a step and a tenth."""

    def __init__(self) -> None:
        self._said = ("", -1)

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        tenth = 10 * done // total if total else 0
        if (what, tenth) != self._said:
            self._said = (what, tenth)
            note(f"{what} ({done:,} of {total:,})" if total else what)


def _indexed(row: Row) -> str:
    how = "from the cache" if row["cached"] else "read"
    return (
        f"{row['name']} {row['version']}: {row['apis']:,} APIs {how} in {float(str(row['seconds'])):.1f} s; "
        f"{row['with_signature']:,} with a signature, {row['with_docs']:,} with documentation, "
        f"{row['with_examples']:,} with examples."
    )


def _found(row: Row) -> str:
    summary = " ".join(str(row["description"]).split())
    short = summary if len(summary) <= 100 else f"{summary[:99]}…"
    return f"{row['path']}{row['signature']}\n    {short}" if short else f"{row['path']}{row['signature']}"
