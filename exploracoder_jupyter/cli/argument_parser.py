"""The grammar of `jupyter explora`. Imports nothing heavy: `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from exploracoder_jupyter.cli import check, doctor, export, fork, history, index, replay, run, snippets
from exploracoder_jupyter.core.options import Parser
from exploracoder_jupyter.core.version import __version__

_EPILOG = (
    "exit status: 0 done; 1 ran, but the result is negative (unsolved, stopped, nothing found, problems found); "
    "2 wrong use or missing means"
)


class _Command(NamedTuple):
    name: str
    help: str
    execute: Callable[[argparse.Namespace], int]
    configure: Callable[[argparse.ArgumentParser], None] | None = None


_COMMANDS = (
    _Command("run", "explore a library for a task; write a trace notebook", run.execute, run.configure),
    _Command("check", "execute a trace again and tell what differs", check.execute, check.configure),
    _Command("replay", "show a recorded run again, without a model", replay.execute, replay.configure),
    _Command("history", "list what was explored, here and elsewhere", history.execute, history.configure),
    _Command("index", "read and index libraries", index.index, index.configure_index),
    _Command("search", "find the APIs of a library that fit a query", index.search, index.configure_search),
    _Command("snippets", "show or remove kept code that ran", snippets.execute, snippets.configure),
    _Command("doctor", "what works here, and what to do about the rest", doctor.execute),
    _Command("fork", "fork a running kernel; keep the fork until interrupted", fork.execute, fork.configure),
    _Command("export", "write a trace in another form", export.execute, export.configure),
)


class _CommandParser(Parser):
    """The parser of one command: it refuses itself what it does not know, in place of the parser above it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse, with nothing left over.

        Raises:
            UsageError: an argument is unknown, lacks its value, or has one that is not offered.
        """
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def build() -> argparse.ArgumentParser:
    """The parser; a parsed namespace has `execute`, and `json` and `debug` where there is a command.

    Raises, while parsing:
        UsageError: the arguments are wrong.
    """
    parser = Parser(
        prog="jupyter explora",
        description="Explore a library by experiments: plan, try, keep what works, assemble a solution.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"exploracoder-jupyter {__version__}")
    parser.set_defaults(execute=lambda _: _help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_CommandParser)
    for command in _COMMANDS:
        _add(commands, command)
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    """What the command does where it is given alone."""
    parser.print_help()
    return 0


def _add(commands: argparse._SubParsersAction[_CommandParser], command: _Command) -> None:
    parser = commands.add_parser(command.name, help=command.help, description=command.help, epilog=_EPILOG)
    if command.configure:
        command.configure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(execute=command.execute)
