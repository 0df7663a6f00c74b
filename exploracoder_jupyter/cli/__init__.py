"""The command line: `jupyter explora run|check|index|search|doctor|export`.

`parser` says what may be typed, `run`, `index`, `doctor` and `export` do it, `live` and `lines` show a run,
`output` is the only writer. Exit status everywhere: 0 done, 1 ran but the result is negative, 2 wrong use or
missing means, 3 internal error. An error is one plain sentence on standard error that names the remedy; `--debug`
shows its traceback.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence

from exploracoder_jupyter.cli.terminal.standard_streams import fail, note, settle
from exploracoder_jupyter.core.errors import BudgetSpent, ExploraError, InternalError, ReplyError, as_known
from exploracoder_jupyter.core.wording import at_a_terminal

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. Without `argv`: with the arguments of this process."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        with at_a_terminal():
            return _execute(arguments)
    except KeyboardInterrupt:
        return _report(ExploraError("Interrupted before there was a result."), arguments, status=1)
    except Exception as error:
        known = as_known(error)
        return _report(known, arguments, status=_status(known))
    finally:
        settle(sys.stdout)
        if argv is None:
            # What is left is the interpreter's own end: an interrupt there would only print a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _execute(arguments: list[str]) -> int:
    from exploracoder_jupyter.cli.argument_parser import build

    parsed = build().parse_args(arguments)
    status: int = parsed.execute(parsed)
    return status


def _report(error: ExploraError, arguments: list[str], *, status: int) -> int:
    """Say what went wrong, also where parsing itself failed: hence the look at the raw arguments."""
    if "--debug" in arguments:
        note(traceback.format_exc())
    fail(error, as_json="--json" in arguments)
    return status


def _status(error: ExploraError) -> int:
    if isinstance(error, InternalError):
        return 3
    return 1 if isinstance(error, BudgetSpent | ReplyError) else 2
