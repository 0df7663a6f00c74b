"""The command line: `jupyter explora run|check|index|search|doctor|export`.

`parser` says what may be typed, `run`, `index`, `doctor` and `export` do it, `live` and `lines` show a run,
`output` is the only writer. Exit status everywhere: 0 done, 1 ran but the result is negative, 2 wrong use or
missing means. An error is one plain sentence on standard error that names the remedy; `--debug` shows its traceback.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence

from exploracoder_jupyter.cli.output import fail, note, settle
from exploracoder_jupyter.errors import BudgetSpent, ExploraError, MissingMeans, ReplyError, unwrapped
from exploracoder_jupyter.wording import at_a_terminal

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
        known = _known(error)
        return _report(known, arguments, status=_status(known))
    finally:
        settle(sys.stdout)
        if argv is None:
            # What is left is the interpreter's own end: an interrupt there would only print a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _execute(arguments: list[str]) -> int:
    from exploracoder_jupyter.cli.parser import build

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
    return 1 if isinstance(error, BudgetSpent | ReplyError) else 2


def _known(error: BaseException) -> ExploraError:
    """The error as one of ours: unwrapped from its group, put in words when the machine is at fault."""
    error = unwrapped(error)
    if isinstance(error, ExploraError):
        return error
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return MissingMeans(f"The machine refused: {error.strerror}{where}.", remedy="Mend that and try again.")
    return ExploraError(
        f"This is a fault of the program: {type(error).__name__}: {error}.", remedy="--debug shows where."
    )
