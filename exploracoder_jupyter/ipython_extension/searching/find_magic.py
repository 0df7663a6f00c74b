"""`%explora find`: parses its line, and runs the command in a separate process, as `%explora search` does.

The kernel imports neither the packages that are searched nor what searches them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from exploracoder_jupyter.core.configuration.options import OPTIONS, OptionParser
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.running.engine import with_this_interpreter
from exploracoder_jupyter.ipython_extension.searching.found_packages import FoundPackages, parse_found
from exploracoder_jupyter.ipython_extension.searching.search_process import (
    LineProgress,
    OutputProgress,
    run_command,
    split_words,
)

_EXAMPLE = "For example: %explora find average colour of a picture"


def find_packages(line: str, *, jupyter: bool, configured: Layer, packages: int = 5) -> FoundPackages:
    """Execute the search on a line. `jupyter`: outputs are messages, which can be updated."""
    arguments = _parse(line, packages)
    sandbox = resolve(*with_this_interpreter([configured])).sandbox
    # `-P`: a file in the user's folder must not shadow one of our modules.
    command = [sandbox.engine_python or sys.executable, "-P", "-m", "exploracoder_jupyter.cli", "find", "--json"]
    progress = OutputProgress() if jupyter else LineProgress()
    try:
        if python := arguments.python or sandbox.python:
            command += ["--python", python]
        command += ["-k", str(arguments.k), "--apis", str(arguments.apis), "--", " ".join(arguments.words)]
        return run_command(command, parse_found, on_progress=progress.update)
    except KeyboardInterrupt:
        raise UsageError("The search was stopped before it found anything.") from None
    finally:
        progress.close()


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
    command = [sandbox.engine_python or sys.executable, "-P", "-m", "exploracoder_jupyter.cli", "find", "--choose"]
    progress = OutputProgress() if jupyter else LineProgress()
    try:
        command += ["--json", *_endpoint_options(layers), *(["--python", sandbox.python] if sandbox.python else ())]
        return run_command(
            [*command, "--", task], TypeAdapter(ChosenLibrary).validate_json, on_progress=progress.update
        )
    except KeyboardInterrupt:
        raise UsageError("Stopped before a library was chosen.") from None
    finally:
        progress.close()


def _endpoint_options(layers: Sequence[Layer]) -> Iterator[str]:
    """Yield the settings of the model made here as options; the command reads the file and the environment itself."""
    for option in OPTIONS:
        if option.section == "endpoint":
            given = (one["endpoint"][option.field] for one in layers if option.field in one.get("endpoint", {}))
            if (value := next(given, None)) is not None:
                yield f"{option.flag}={value}"


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
