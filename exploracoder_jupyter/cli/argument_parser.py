"""The argument parser of `jupyter explora`. Imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from types import ModuleType
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
    module: ModuleType
    """It has `execute`, and with arguments of its own `configure`."""


_COMMANDS = (
    _Command("run", "explore a library to solve a task; write a trace notebook", run),
    _Command("check", "execute a trace again and report differences", check),
    _Command("replay", "replay a recorded run without a model", replay),
    _Command("history", "list past explorations, in all folders", history),
    _Command("index", "read and index libraries", index),
    _Command("search", "find the APIs of a library that match a query", search),
    _Command("snippets", "show or remove stored code snippets", snippets),
    _Command("repo", "ask about the code of a repository, and apply or undo a patch", repo),
    _Command("setup", "find a language model here, try it, and configure it", setup),
    _Command("doctor", "check the installation and suggest fixes for problems", doctor),
    _Command("fork", "fork a running kernel and serve the fork until interrupted", fork),
    _Command("export", "convert a trace to another format", export),
    _Command("bench", "measure strategies and models on problems with hidden tests", bench),
    _Command("annotate", "add look-ups with real answers to code, as data for finetune", annotate),
    _Command("finetune", "teach a language model on this machine to look APIs up while it writes", finetune),
    _Command("completion", "print a script that completes commands in a shell", completion),
)


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
    for name, help_, module in _COMMANDS:
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
