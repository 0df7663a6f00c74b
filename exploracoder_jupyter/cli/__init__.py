"""The command line: `jupyter explora run|check|replay|history|index|search|find|snippets|repo|setup|doctor|fork|mcp|
skill|export|bench|annotate|finetune|completion`.

`argument_parser` defines the commands; each command has a module of the same name. `live_view`
shows progress, and `output` does all writing. Exit status of every command: 0 done, 1 ran but the result is
negative, 2 wrong usage or a missing requirement, 3 internal error. An error is one plain sentence on standard error
that includes the remedy; `--debug` shows its traceback.
"""

from __future__ import annotations

import io
import signal
import sys
import traceback
from collections.abc import Sequence

from exploracoder_jupyter.cli.output import flush, print_error, print_note
from exploracoder_jupyter.core.errors import (
    BudgetExceeded,
    ExploraError,
    InternalError,
    ReplyError,
    to_explora_error,
)
from exploracoder_jupyter.core.messages import terminal_wording

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; without `argv`, use the arguments of this process."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        with terminal_wording():
            return _execute(arguments)
    except KeyboardInterrupt:
        return _report_error(ExploraError("Interrupted before there was a result."), arguments, status=1)
    except Exception as error:
        known = to_explora_error(error)
        return _report_error(known, arguments, status=_exit_status(known))
    finally:
        flush(sys.stdout)
        if argv is None:
            # Only the interpreter's shutdown remains, and an interrupt there would just print a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _execute(arguments: list[str]) -> int:
    if sys.platform == "win32":  # a process of its own group gets this event, not Ctrl+C
        signal.signal(signal.SIGBREAK, signal.default_int_handler)
        for stream in (sys.stdout, sys.stderr):  # pipes and files; a console has all characters
            if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
                stream.reconfigure(encoding="utf-8")
    from exploracoder_jupyter.cli import completion
    from exploracoder_jupyter.cli.argument_parser import build_parser

    parser = build_parser()
    if completion.is_requested():
        completion.complete(parser)
    parsed = parser.parse_args(arguments)
    status: int = parsed.execute(parsed)
    return status


def _report_error(error: ExploraError, arguments: list[str], *, status: int) -> int:
    """Print the error and return the status. Checks the raw arguments, because parsing may have failed."""
    if "--debug" in arguments:
        print_note(traceback.format_exc())
    print_error(error, as_json="--json" in arguments)
    return status


def _exit_status(error: ExploraError) -> int:
    if isinstance(error, InternalError):
        return 3
    return 1 if isinstance(error, BudgetExceeded | ReplyError) else 2
