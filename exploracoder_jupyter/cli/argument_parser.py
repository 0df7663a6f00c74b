"""The argument parser of `jupyter explora`. Imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from exploracoder_jupyter.cli import (
    annotate,
    bench,
    check,
    completion,
    doctor,
    export,
    finetune,
    fork,
    history,
    index,
    replay,
    repo,
    run,
    search,
    setup,
    snippets,
)
from exploracoder_jupyter.core.configuration.option_parser import OptionParser
from exploracoder_jupyter.core.version import __version__

_EPILOG = (
    "exit status: 0 done; 1 ran, but the result is negative (unsolved, stopped, nothing found, problems found); "
    "2 wrong usage or a missing requirement; 3 internal error"
)


class _Command(NamedTuple):
    name: str
    help: str
    execute: Callable[[argparse.Namespace], int]
    configure: Callable[[argparse.ArgumentParser], None] | None = None


_COMMANDS = (
    _Command("run", "explore a library to solve a task; write a trace notebook", run.execute, run.configure),
    _Command("check", "execute a trace again and report differences", check.execute, check.configure),
    _Command("replay", "replay a recorded run without a model", replay.execute, replay.configure),
    _Command("history", "list past explorations, in all folders", history.execute, history.configure),
    _Command("index", "read and index libraries", index.execute, index.configure),
    _Command("search", "find the APIs of a library that match a query", search.execute, search.configure),
    _Command("snippets", "show or remove stored code snippets", snippets.execute, snippets.configure),
    _Command("repo", "ask about the code of a repository, and apply or undo a patch", repo.execute, repo.configure),
    _Command("setup", "find a language model here, try it, and configure it", setup.execute, setup.configure),
    _Command("doctor", "check the installation and suggest fixes for problems", doctor.execute),
    _Command("fork", "fork a running kernel and serve the fork until interrupted", fork.execute, fork.configure),
    _Command("export", "convert a trace to another format", export.execute, export.configure),
    _Command("bench", "measure strategies and models on problems with hidden tests", bench.execute, bench.configure),
    _Command(
        "annotate",
        "add look-ups with real answers to code, as data for finetune",
        annotate.execute,
        annotate.configure,
    ),
    _Command(
        "finetune",
        "teach a language model on this machine to look APIs up while it writes",
        finetune.execute,
        finetune.configure,
    ),
    _Command(
        "completion", "print a script that completes commands in a shell", completion.execute, completion.configure
    ),
)


class _CommandParser(OptionParser):
    """The parser of one command, which reports unknown arguments itself instead of leaving them to the main parser."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but reject unknown arguments.

        Raises:
            UsageError: an argument is unknown, lacks its value, or has an invalid value.
        """
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def build_parser() -> argparse.ArgumentParser:
    """Build the parser. A parsed namespace has `execute`, and with a command also `json` and `debug`.

    Parsing raises UsageError if the arguments are invalid.
    """
    parser = OptionParser(
        prog="jupyter explora",
        description="Explore a library by experiments: plan, try, keep what works, assemble a solution.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"exploracoder-jupyter {__version__}")
    parser.set_defaults(execute=lambda _: _print_help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_CommandParser)
    for command in _COMMANDS:
        _add_command(commands, command)
    return parser


def _print_help(parser: argparse.ArgumentParser) -> int:
    """Print the help: the action without a command."""
    parser.print_help()
    return 0


def _add_command(commands: argparse._SubParsersAction[_CommandParser], command: _Command) -> None:
    parser = commands.add_parser(command.name, help=command.help, description=command.help, epilog=_EPILOG)
    if command.configure:
        command.configure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(execute=command.execute)
