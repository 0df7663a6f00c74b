"""`jupyter explora check`: whether traces still hold. Exit status: 0 it does, 1 it does not, 2 nobody can tell."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.terminal.interrupts import Interrupts, interrupts
from exploracoder_jupyter.cli.terminal.progress_line import progress
from exploracoder_jupyter.cli.terminal.standard_streams import emit, note, say, write
from exploracoder_jupyter.core.errors import ExploraError, UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.runs.trace_check import Asked, Report
    from exploracoder_jupyter.runs.trace_check.explored_notebook import Exploration

_TOLERANCE = 1e-6
_MOST_WHY = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `check`."""
    parser.add_argument(
        "traces", nargs="+", metavar="TRACE", help="trace notebook of a run, or a notebook that has explored"
    )
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
    """Check the traces one after the other and show what was found. Returns the worst of the exit statuses.

    Raises:
        ExploraError: it was interrupted; or there is one trace, and that cannot be checked.
    """
    _refuse(arguments)
    with interrupts(during="what was begun is being ended") as taken:
        try:
            targets = [target for path in arguments.traces for target in _targets(Path(path))]
            several = len(targets) > 1
            return max(_attempt(target, arguments, taken, several=several) for target in targets)
        except KeyboardInterrupt:
            raise _Interrupted() from None


class _Interrupted(ExploraError):
    def __init__(self) -> None:
        super().__init__("The check was interrupted before its end.")


@dataclass(frozen=True, slots=True)
class _Target:
    """A trace, and the notebook of a person that led to it."""

    trace: Path
    explored: Exploration | None = None
    refused: ExploraError | None = None
    """Why there is none."""

    @property
    def told(self) -> dict[str, JsonValue]:
        """For JSON."""
        if self.explored is None:
            return {"trace": str(self.trace)}
        return {
            "trace": str(self.trace),
            "notebook": str(self.explored.notebook),
            "edited_there": [*self.explored.edited],
        }

    @property
    def sentence(self) -> str:
        """For people; empty where they have named the trace itself."""
        if self.explored is None:
            return ""
        edited = f" Edited in the notebook since: {', '.join(self.explored.edited)}." if self.explored.edited else ""
        return f"{self.explored.notebook} has explored; checked is the trace of that, {self.trace}.{edited}"


def _targets(path: Path) -> list[_Target]:
    from exploracoder_jupyter.runs.trace_check.explored_notebook import explorations

    try:
        return [_Target(found.trace, found) for found in explorations(path)] or [_Target(path)]
    except ExploraError as error:
        return [_Target(path, refused=error)]


def _attempt(target: _Target, arguments: argparse.Namespace, taken: Interrupts, *, several: bool) -> int:
    """Check one of the traces. Returns its exit status.

    Raises:
        ExploraError: it is the only one and cannot be checked, or all were interrupted.
    """
    try:
        if target.refused:
            raise target.refused
        report = _check(_asked(target, arguments), taken)
    except ExploraError as error:
        if not several or isinstance(error, _Interrupted):
            raise
        _refused(target, error, as_json=arguments.json)
        return 2
    _tell(target, report, as_json=arguments.json, several=several)
    return 0 if report.same else 1


def _refused(target: _Target, error: ExploraError, *, as_json: bool) -> None:
    """Say why this one of several cannot be checked."""
    note(f"jupyter explora: {' '.join(str(error).split())}")
    if as_json:
        write(sys.stdout, json.dumps({**target.told, "error": error.message, "remedy": error.remedy}))


def _tell(target: _Target, report: Report, *, as_json: bool, several: bool) -> None:
    if not as_json:
        if head := target.sentence or (f"{target.trace}:" if several else ""):
            say(head)
        _show(report)
    elif several:
        write(sys.stdout, json.dumps({**target.told, **report.plain()}))
    else:
        emit({**target.told, **report.plain()})


def _refuse(arguments: argparse.Namespace) -> None:
    if not 0 <= arguments.tolerance < 1:
        raise UsageError(f"--tolerance takes a number from 0 to 1, not {arguments.tolerance:g}.", remedy="Try 1e-6.")
    if arguments.kernel and (arguments.env or arguments.overrides):
        raise UsageError("--kernel and --env name two environments.", remedy="Give one of them.")


def _asked(target: _Target, arguments: argparse.Namespace) -> Asked:
    from exploracoder_jupyter.runs.trace_check import Asked

    return Asked(
        target.trace,
        selected=arguments.selected,
        tolerance=arguments.tolerance,
        before=Path(arguments.before) if arguments.before else None,
        otherwise=target.explored.before if target.explored else (),
        env=arguments.env,
        overrides=tuple(arguments.overrides),
        kernel=arguments.kernel,
        network=arguments.network,
        isolation=arguments.isolation,
        workdir=Path(arguments.workdir) if arguments.workdir else None,
    )


def _check(asked: Asked, taken: Interrupts) -> Report:
    import anyio

    from exploracoder_jupyter.runs.trace_check import check

    async def main() -> Report | None:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            taken.answer = lambda: _soon(loop, scope.cancel)
            return await check(asked, advance)
        return None

    try:
        with progress("Reading the trace") as advance, redirect_stdout(sys.stderr):
            report = anyio.run(main)
    finally:
        taken.answer = None  # the loop is closed
    if report is None:
        raise _Interrupted()
    return report


def _soon(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(what)


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
