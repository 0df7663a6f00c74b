"""The line of `%%explora`: what was typed, as a value; and its help.

The table of options is shared with the command line (`exploracoder_jupyter.options`); only the libraries, which are
positional here, are added.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.options import Parser, add_options, check_resume, check_text, layer

if TYPE_CHECKING:
    from pydantic import JsonValue

_SYNOPSIS = "LIB [LIB ...] [options]\n<the task, in words>"
_ABOUT = (
    "Explore libraries for a task: plan it, try candidates for every step in kernels of their own, and assemble a "
    "solution from what ran. Runs in the background in JupyterLab and Notebook 7, else until it is done. Your own "
    "kernel's variables are never changed. `%explora` lists what else there is."
)


@dataclass(frozen=True, slots=True)
class Call:
    """One `%%explora` line, read."""

    libraries: tuple[str, ...]
    uses: tuple[str, ...]
    """Variables named by `--use`, each once."""
    check: str | None
    """Text of the check, read from its file where one was named."""
    solution_name: str | None
    wait: bool
    resume: str | None
    """The trace to go on from; empty: the newest one of this task. None: it is a new run."""
    start: str
    """The cell of that trace to go on from; empty: where its run ended."""
    hint: str
    """For the model, at what is explored first then."""
    layer: dict[str, dict[str, JsonValue]]
    """The settings given as options."""


def read_line(line: str) -> Call:
    """The call that this line asks for.

    Raises:
        UsageError: an option is unknown, unavailable or has a bad value, or no library is named.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"The %%explora line cannot be read: {error}.", remedy="Close every quote.") from error
    given = _parser().parse_args(words)
    check_resume(given)
    if not given.libraries and given.resume is None:
        raise UsageError("Name at least one library.", remedy="For example: %%explora networkx")
    return Call(
        libraries=tuple(dict.fromkeys(given.libraries)),
        uses=tuple(dict.fromkeys(given.use or ())),
        check=None if given.check is None else check_text(given.check),
        solution_name=given.name,
        wait=bool(given.wait),
        resume=given.resume,
        start=getattr(given, "from") or "",
        hint=given.hint or "",
        layer=layer(given),
    )


def help_text() -> str:
    """What `%%explora?` shows: every option with its meaning."""
    return _parser().format_help()


def _parser() -> Parser:
    parser = Parser(prog="%%explora", add_help=False, description=_ABOUT, usage=f"%%%%explora {_SYNOPSIS}")
    parser.add_argument("libraries", nargs="*", metavar="LIB", help="a library, by distribution or import name")
    add_options(parser, place="magic")
    return parser
