"""`jupyter explora check`: whether a trace still holds. Exit status: 0 it does, 1 it does not, 2 nobody can tell."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.interrupts import Interrupts, interrupts
from exploracoder_jupyter.cli.output import emit, plain, say
from exploracoder_jupyter.errors import ExploraError, UsageError

if TYPE_CHECKING:
    from exploracoder_jupyter.session.check import Asked, Report

_TOLERANCE = 1e-6
_MOST_WHY = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `check`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run")
    parser.add_argument("--selected", action="store_true", help="only what was carried forward, and the solution")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=_TOLERANCE,
        metavar="X",
        help=f"relative difference of numbers with a fraction that counts as none ({_TOLERANCE:g})",
    )
    parser.add_argument("--before", metavar="FILE", help=".py or .ipynb to run first: what the kernel of the run had")
    parser.add_argument(
        "--env", action="store_true", help="run in an environment built as recorded; kept for the next time"
    )
    parser.add_argument(
        "--with",
        dest="overrides",
        action="append",
        default=[],
        metavar="NAME==VERSION",
        help="such an environment, with another version; may be given again",
    )
    parser.add_argument("--kernel", metavar="KERNELSPEC", help="kernelspec, or path of an interpreter, to run in")
    parser.add_argument(
        "--isolation", choices=("best", "require"), help="the best that works here, or the full level (as in the run)"
    )
    parser.add_argument("--network", action="store_true", help="let what is executed reach the network")
    parser.add_argument("--workdir", metavar="FOLDER", help="folder with the files that the run had")


def execute(arguments: argparse.Namespace) -> int:
    """Check the trace and show what was found. Returns the exit status.

    Raises:
        ExploraError: it cannot be checked, or was interrupted.
    """
    asked = _asked(arguments)
    with interrupts(during="what was begun is being ended") as taken:
        try:
            report = _check(asked, taken)
        except KeyboardInterrupt:
            raise _interrupted() from None
    if arguments.json:
        emit(report.plain())
    else:
        _show(report)
    return 0 if report.same else 1


def _asked(arguments: argparse.Namespace) -> Asked:
    if not 0 <= arguments.tolerance < 1:
        raise UsageError(f"--tolerance takes a number from 0 to 1, not {arguments.tolerance:g}.", remedy="Try 1e-6.")
    if arguments.kernel and (arguments.env or arguments.overrides):
        raise UsageError("--kernel and --env name two environments.", remedy="Give one of them.")

    from exploracoder_jupyter.session.check import Asked

    return Asked(
        Path(arguments.trace),
        selected=arguments.selected,
        tolerance=arguments.tolerance,
        before=Path(arguments.before) if arguments.before else None,
        env=arguments.env,
        overrides=tuple(arguments.overrides),
        kernel=arguments.kernel,
        network=arguments.network,
        isolation=arguments.isolation,
        workdir=Path(arguments.workdir) if arguments.workdir else None,
    )


def _check(asked: Asked, taken: Interrupts) -> Report:
    import anyio

    from exploracoder_jupyter.session.check import check

    async def main() -> Report | None:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            taken.answer = lambda: _soon(loop, scope.cancel)
            return await check(asked, advance)
        return None

    with _progress() as advance, redirect_stdout(sys.stderr):
        report = anyio.run(main)
    if report is None:
        raise _interrupted()
    return report


def _soon(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(what)


def _interrupted() -> ExploraError:
    return ExploraError("The check was interrupted before its end.")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Says on standard error what is being done, where a terminal shows it."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.text import Text

    def told(what: str, done: int, total: int) -> None:
        status.update(Text(plain(f"{what} ({done} of {total})" if total else what)))

    with Console(stderr=True).status("Reading the trace") as status:
        yield told


def _show(report: Report) -> None:
    """The table, and the result in a sentence."""
    if report.differs:
        say(f"Different here: {'; '.join(report.differs)}.\n")
    width = max((len(row.id) for row in report.rows), default=0)
    for row in report.rows:
        why = row.why if len(row.why) <= _MOST_WHY else f"{row.why[: _MOST_WHY - 1]}…"
        say(f"{row.id:<{width}}  {row.result:<8} {' '.join(why.split())}".rstrip())
    say("")
    say(report.sentence)
