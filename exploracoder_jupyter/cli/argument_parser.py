"""The argument parser of `jupyter explora`. Imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from typing import Any

from exploracoder_jupyter.cli import (
    annotate,
    bench,
    check,
    completion,
    doctor,
    export,
    find,
    finetune,
    fork,
    history,
    index,
    mcp,
    replay,
    repo,
    run,
    search,
    setup,
    skill,
    snippets,
)
from exploracoder_jupyter.core.configuration.options import OptionParser
from exploracoder_jupyter.core.version import __version__

_EPILOG = (
    "exit status: 0 done; 1 ran, but the result is negative (unsolved, stopped, nothing found, problems found); "
    "2 wrong usage or a missing requirement; 3 internal error"
)


_COMMANDS = (
    (run, "explore a library to solve a task; write a trace notebook"),
    (check, "execute a trace again and report differences"),
    (replay, "replay a recorded run without a model"),
    (history, "list past explorations, in all folders"),
    (index, "read and index libraries"),
    (search, "find the APIs of a library that match a query"),
    (find, "find the installed packages that can do something"),
    (snippets, "show or remove stored code snippets"),
    (repo, "ask about the code of a repository, and apply or undo a patch"),
    (setup, "find a language model here, try it, and configure it"),
    (doctor, "check the installation and suggest fixes for problems"),
    (fork, "fork a running kernel and serve the fork until interrupted"),
    (mcp, "serve tools for coding agents: read APIs, try code in forks of a kernel"),
    (skill, "write a skill for coding agents about a library, from code that ran"),
    (export, "convert a trace to another format"),
    (bench, "measure strategies and models on problems with hidden tests"),
    (annotate, "add look-ups with real answers to code, as data for finetune"),
    (finetune, "teach a language model on this machine to look APIs up while it writes"),
    (completion, "print a script that completes commands in a shell"),
)
"""Modules with the names of the commands, and what these do. Each has `execute`, and with arguments `configure`."""


class _CommandParser(OptionParser):
    """The parser of one command, which reports unknown arguments itself instead of leaving them to the main parser."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but reject unknown arguments."""
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
    for module, help_ in _COMMANDS:
        name = module.__name__.rpartition(".")[2]
        command = commands.add_parser(name, help=help_, description=help_, epilog=_EPILOG)
        if configure := getattr(module, "configure", None):
            configure(command)
        command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.set_defaults(execute=module.execute)
    return parser


def _print_help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0
