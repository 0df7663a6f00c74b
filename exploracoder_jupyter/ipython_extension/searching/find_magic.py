"""`%explora find`: parses its line, and runs the command in a separate process, as `%explora search` does.

The kernel imports neither the packages that are searched nor what searches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exploracoder_jupyter.core.configuration.options import OPTIONS, OptionParser
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.validation import TypeAdapter
from exploracoder_jupyter.ipython_extension.running.engine import with_this_interpreter
from exploracoder_jupyter.ipython_extension.searching.found_packages import FoundPackages, parse_found
from exploracoder_jupyter.ipython_extension.searching.search_process import (
    STOPPED,
    cli_command,
    command_options,
    command_progress,
    run_command,
    split_words,
)

_EXAMPLE = "For example: %explora find average colour of a picture"


def find_packages(line: str, *, jupyter: bool, configured: Layer, packages: int = 5) -> FoundPackages:
    """Execute the search on a line. `jupyter`: outputs are messages, which can be updated."""
    arguments = _parse(line, packages)
    layers = with_this_interpreter([configured])
    python = arguments.python or resolve(*layers).sandbox.python
    where = ["--python", python] if python else []
    shown = ["-k", str(arguments.k), "--apis", str(arguments.apis)]
    command = cli_command(layers, "find", "--json", *where, *shown, "--", " ".join(arguments.words))
    with command_progress(jupyter=jupyter, stopped=STOPPED) as progress:
        return run_command(command, parse_found, on_progress=progress.update)


@dataclass(frozen=True, slots=True)
class ChosenLibrary:
    """The library that the command chose for a task."""

    library: str
    """The name by which it is imported."""
    sentence: str
    """What was chosen and why."""


def choose_library(task: str, layers: Sequence[Layer], *, jupyter: bool) -> ChosenLibrary:
    """Have the library chosen for a task that names none. Raises UsageError if none is clearly the one."""
    sandbox = resolve(*layers).sandbox
    if sandbox.gateway or sandbox.kernel:
        raise UsageError(
            "No library is named, and the packages behind --kernel and --gateway are not searched.",
            remedy="Name at least one library, for example: %%explora networkx",
        )
    model = command_options([option for option in OPTIONS if option.section == "endpoint"], layers)
    where = ["--python", sandbox.python] if sandbox.python else []
    command = cli_command(layers, "find", "--choose", "--json", *model, *where, "--", task)
    with command_progress(jupyter=jupyter, stopped="Stopped before a library was chosen.") as progress:
        return run_command(command, TypeAdapter(ChosenLibrary).validate_json, on_progress=progress.update)


class _Arguments:
    words: list[str]
    k: int
    apis: int
    python: str | None


def _parse(line: str, packages: int) -> _Arguments:
    parser = OptionParser(prog="%explora find", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-k", type=int, default=packages)
    parser.add_argument("--apis", type=int, default=3)
    parser.add_argument("--python")
    given = parser.parse_intermixed_args(split_words(line), _Arguments())
    if not any(map(str.isalnum, "".join(given.words))):
        raise UsageError("The query is empty.", remedy=f"Describe what a package is to do. {_EXAMPLE}")
    return given
