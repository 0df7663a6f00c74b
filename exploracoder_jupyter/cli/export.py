"""`jupyter explora export`: a trace in another form."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import emit, say
from exploracoder_jupyter.errors import UsageError

if TYPE_CHECKING:
    from nbformat import NotebookNode


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `export`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run")
    parser.add_argument(
        "--to",
        choices=("notebook",),
        default="notebook",
        help="notebook: without the candidates that were not carried forward",
    )
    parser.add_argument("--out", required=True, metavar="PATH", help="where to write it")


def execute(arguments: argparse.Namespace) -> int:
    """Write the trace in the form asked for, made anew from its records. Returns the exit status.

    Raises:
        UsageError: the trace cannot be read, or the path cannot be written or holds something else.
    """
    source, target = Path(arguments.trace), Path(arguments.out)
    _refuse_same(source, target)

    from exploracoder_jupyter.notebook import load, prepare, render, without_losers

    trace = render(load(source))
    _write(prepare(target), _text(without_losers(trace)))
    if arguments.json:
        emit({"out": str(target), "to": arguments.to})
    else:
        say(f"Written: {target}")
    return 0


def _refuse_same(source: Path, target: Path) -> None:
    if source.exists() and target.exists() and target.samefile(source):
        raise UsageError("--out is the trace itself.", remedy="Name another file, so that the trace stays whole.")


def _text(notebook: NotebookNode) -> str:
    import nbformat

    content: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return content + "\n"


def _write(target: Path, content: str) -> None:
    try:
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{str(target)!r} cannot be written: {error.strerror or error}.",
            remedy="Name a file in a folder that exists and is yours.",
        ) from error
