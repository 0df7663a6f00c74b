"""The caller of a magic, and the line of `%%explora`: its parsed form and its help."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.options import (
    OPTIONS,
    OptionParser,
    add_options,
    settings_layer,
    split_call,
    validate_repository_options,
    validate_resume_options,
)
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.task import read_code

if TYPE_CHECKING:
    from pydantic import JsonValue


# The caller of a magic: what is known about the front end and the calling cell.
#
# JupyterLab and Notebook 7 send the id of the cell with each execution; nbclient, papermill and a terminal do not.
# With an id, a user is looking at the page, and the run may continue in the background; without one, the cell
# waits. Who sends no id, has no notebook and can be asked for input is a console (`jupyter console`, Qt console):
# it does not update outputs.

_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """The front end and the cell that called a magic."""

    jupyter: bool
    """Whether outputs are messages, which can be updated, rather than a terminal's lines."""
    watched: bool
    """Whether a front end that shows a page sent the cell."""
    cell: str | None
    """Id of the calling cell, if it is a notebook's."""
    notebook: Path | None
    """The calling notebook, if known."""
    session: str = ""
    """The session id of the connection over which the cell was sent."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """This extension's part of the metadata that came with the cell."""


def find_caller(shell: InteractiveShell) -> Caller:
    """Return the caller of the cell that is being executed."""
    jupyter = hasattr(shell, "kernel")
    parent = shell.get_parent() if jupyter else {}  # type: ignore[attr-defined]
    metadata = parent.get("metadata", {})
    cell, ours = metadata.get("cellId"), metadata.get("exploracoder_jupyter")
    is_valid = isinstance(cell, str) and _CELL_ID.fullmatch(cell)
    notebook = find_notebook(shell)
    unmarked = not cell and notebook is None and "google.colab" not in sys.modules
    is_console = unmarked and bool(parent.get("content", {}).get("allow_stdin"))
    return Caller(
        jupyter=jupyter and not is_console,
        watched=bool(cell),
        cell=cell if is_valid else None,
        notebook=notebook,
        session=str(parent.get("header", {}).get("session", "")),
        metadata=ours if isinstance(ours, Mapping) else {},
    )


def find_notebook(shell: InteractiveShell) -> Path | None:
    """Return the notebook of this kernel: Jupyter Server sets `JPY_SESSION_NAME`, VS Code sets a variable."""
    for name in (os.environ.get("JPY_SESSION_NAME"), shell.user_ns.get("__vsc_ipynb_file__")):
        if isinstance(name, str) and name.endswith(".ipynb"):
            path = Path(shell.starting_dir, name)  # a relative path starts at the kernel's initial folder
            if path.is_file():
                return path
    return None


# The line of `%%explora`: its parsed form, and its help.
#
# The table of options is shared with the command line (`options`). Only the libraries are added here,
# because they are positional in the magic.

_REPLAY_OPTIONS = ("replay", "delay", "out", "kernel", "wait")
_SYNOPSIS = "[LIB ...] [options]\n<the task, in words>"
_ABOUT = (
    "Explore libraries for a task: make a plan, try candidates for every step in separate kernels, and assemble a "
    "solution from what ran. Runs in the background in JupyterLab and Notebook 7; elsewhere the cell waits. The "
    "variables of your own kernel are never changed. `%explora?` lists the other commands."
)


@dataclass(frozen=True, slots=True)
class Call:
    """One parsed `%%explora` line."""

    libraries: tuple[str, ...]
    """Empty: the task decides, unless the run is a replay, resumed, or in a repository."""
    uses: tuple[str, ...]
    """Variables named by `--use`, without duplicates."""
    check: str | None
    """Text of the check, read from its file if one was named."""
    setup: str
    """Code that makes the variables of the task, read from its file if one was named."""
    solution_name: str | None
    wait: bool
    resume: str | None
    """The trace to resume; empty: the newest one of this task. None: a new run."""
    start: str
    """The cell of that trace to resume from; empty: where its run ended."""
    hint: str
    """For the model, for what is explored first then."""
    replay: str
    """The trace of a run to replay; empty: the run is not a replay."""
    delay: Literal["recorded", "none"]
    """Whether the replies of a replay take as long as the recorded ones."""
    layer: dict[str, dict[str, JsonValue]]
    """The settings given as options."""
    repo: str = ""
    """The folder of a repository for which code is written; empty: a library is explored."""
    target: str = ""
    tests: tuple[str, ...] = ()
    """Arguments of pytest that select the tests of the target."""
    test_command: str = ""


def parse_magic_cell(line: str, cell: str) -> tuple[Call, str]:
    """Parse the line and return it with the task, the text below it."""
    line, cell = split_call(line, cell)
    call = parse_magic_line(line)
    if not cell.strip() and not (call.resume or call.replay):
        raise UsageError("There is no task.", remedy="Write it in words below the %%explora line.")
    return call, cell.strip()


def parse_magic_line(line: str) -> Call:
    """Parse the line alone."""
    try:
        words = system.split_words(line)
    except ValueError as error:
        raise UsageError(f"The %%explora line cannot be read: {error}.", remedy="Close every quote.") from error
    given = _parser().parse_args(words)
    validate_resume_options(given)
    _check_replay(given)
    validate_repository_options(given, given.libraries)
    return Call(
        libraries=tuple(dict.fromkeys(given.libraries)),
        uses=tuple(dict.fromkeys(given.use or ())),
        check=read_code(given.check, "check"),
        setup=read_code(given.setup, "setup") or "",
        solution_name=given.name,
        wait=bool(given.wait),
        resume=given.resume,
        start=getattr(given, "from") or "",
        hint=given.hint or "",
        replay=given.replay or "",
        delay=given.delay or "none",
        layer=settings_layer(given),
        repo=given.repo or "",
        target=given.target or "",
        tests=tuple(given.test_selector or ()),
        test_command=given.test_command or "",
    )


def _check_replay(given: Namespace) -> None:
    """Reject options that a replay would ignore, and --delay without --replay."""
    if given.replay is None:
        if given.delay is not None:
            raise UsageError("--delay requires --replay.", remedy="Add --replay with the trace to replay.")
        return
    if not given.replay:
        raise UsageError("--replay names no trace.", remedy="Name a notebook that an exploration wrote.")
    given_options = (option for option in OPTIONS if getattr(given, option.dest, None) is not None)
    flags = [option.flag for option in given_options if option.name not in _REPLAY_OPTIONS]
    if others := [*given.libraries, *flags]:
        raise UsageError(f"{others[0]} cannot be used with --replay, which repeats a run as it was.", remedy="Omit it.")


def help_text() -> str:
    """Return the help that `%%explora?` shows: every option with its meaning."""
    return _parser().format_help()


def _parser() -> OptionParser:
    parser = OptionParser(prog="%%explora", add_help=False, description=_ABOUT, usage=f"%%%%explora {_SYNOPSIS}")
    parser.add_argument(
        "libraries",
        nargs="*",
        metavar="LIB",
        help="a library, by distribution or import name (the installed package that fits the task best)",
    )
    add_options(parser, place="magic")
    return parser
