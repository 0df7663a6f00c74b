"""`jupyter explora check`: executes traces again. Exit status: 0 same results, 1 differences, 2 not checkable."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_json, print_note, print_result, show_progress, write_line
from exploracoder_jupyter.cli.run_display import InterruptHandler, handle_interrupts, run_cancellable
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.messages import one_line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.runs.trace_check import CheckRequest, Report
    from exploracoder_jupyter.runs.trace_check.checked_trace import Exploration

_TOLERANCE = 1e-6
_MAX_EXPLANATION = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `check_trace`."""
    parser.add_argument(
        "traces", nargs="+", metavar="TRACE", help="trace notebook of a run, or a notebook with explorations"
    )
    parser.add_argument("--selected", action="store_true", help="only the selected candidates and the solution")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=_TOLERANCE,
        metavar="X",
        help=f"relative difference up to which floating-point numbers count as equal ({_TOLERANCE:g})",
    )
    parser.add_argument(
        "--before", metavar="FILE", help=".py or .ipynb to run first, to define variables of the run's kernel"
    )
    parser.add_argument(
        "--env", action="store_true", help="run in an environment built as recorded; it is kept for later checks"
    )
    parser.add_argument(
        "--with",
        dest="overrides",
        action="append",
        default=[],
        metavar="NAME==VERSION",
        help="like --env, with another version of a package; can be repeated",
    )
    parser.add_argument("--kernel", metavar="KERNELSPEC", help="kernelspec, or path of an interpreter, to run in")
    parser.add_argument(
        "--isolation",
        choices=("best", "require"),
        help="best: the strongest isolation available; require: refuse to run without full isolation (as in the run)",
    )
    parser.add_argument("--network", action="store_true", help="let the executed code access the network")
    parser.add_argument("--workdir", metavar="FOLDER", help="folder with the files that the run used")


def execute(arguments: argparse.Namespace) -> int:
    """Check the traces one by one and print the results. Returns the highest of the exit statuses."""
    if not 0 <= arguments.tolerance < 1:
        raise UsageError(f"--tolerance takes a number from 0 to 1, not {arguments.tolerance:g}.", remedy="Try 1e-6.")
    if arguments.kernel and (arguments.env or arguments.overrides):
        raise UsageError("--kernel and --env cannot be combined.", remedy="Give only one of them.")
    with handle_interrupts(during="ending the current check") as signals:
        try:
            targets = [target for path in arguments.traces for target in _find_targets(Path(path))]
            several = len(targets) > 1
            return max(_check_target(target, arguments, signals, several=several) for target in targets)
        except KeyboardInterrupt:
            raise _Interrupted() from None


class _Interrupted(ExploraError):
    def __init__(self) -> None:
        super().__init__("The check was interrupted.")


@dataclass(frozen=True, slots=True)
class _CheckTarget:
    trace: Path
    explored: Exploration | None = None
    error: ExploraError | None = None
    """Why the trace cannot be checked."""

    @property
    def json_fields(self) -> dict[str, JsonValue]:
        """The fields for `--json`."""
        found: dict[str, JsonValue] = {"trace": str(self.trace)}
        if self.explored:
            found |= {"notebook": str(self.explored.notebook), "edited_there": [*self.explored.edited]}
        return found

    @property
    def description(self) -> str:
        """One or two sentences for the user; empty if the user named the trace itself."""
        if self.explored is None:
            return ""
        edited = f" Edited in the notebook since: {', '.join(self.explored.edited)}." if self.explored.edited else ""
        return f"{self.explored.notebook} contains an exploration; checking its trace, {self.trace}.{edited}"


def _find_targets(path: Path) -> list[_CheckTarget]:
    from exploracoder_jupyter.runs.trace_check.checked_trace import find_explorations

    try:
        return [_CheckTarget(found.trace, found) for found in find_explorations(path)] or [_CheckTarget(path)]
    except ExploraError as error:
        return [_CheckTarget(path, error=error)]


def _check_target(
    target: _CheckTarget, arguments: argparse.Namespace, signals: InterruptHandler, *, several: bool
) -> int:
    """Check one of the traces. Returns its exit status; raises if it is the only one and cannot be checked."""
    try:
        if target.error:
            raise target.error
        report = _run_check(_check_request(target, arguments), signals)
    except ExploraError as error:
        if not several or isinstance(error, _Interrupted):
            raise
        print_note(f"jupyter explora: {' '.join(str(error).split())}")
        if arguments.json:
            write_line(sys.stdout, json.dumps({**target.json_fields, "error": error.message, "remedy": error.remedy}))
        return 2
    _print_outcome(target, report, as_json=arguments.json, several=several)
    return 0 if report.same else 1


def _print_outcome(target: _CheckTarget, report: Report, *, as_json: bool, several: bool) -> None:
    if not as_json:
        if head := target.description or (f"{target.trace}:" if several else ""):
            print_result(head)
        _print_report(report)
    elif several:
        write_line(sys.stdout, json.dumps({**target.json_fields, **report.plain()}))
    else:
        print_json({**target.json_fields, **report.plain()})


def _check_request(target: _CheckTarget, arguments: argparse.Namespace) -> CheckRequest:
    from exploracoder_jupyter.runs.trace_check import CheckRequest

    return CheckRequest(
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


def _run_check(asked: CheckRequest, signals: InterruptHandler) -> Report:
    from exploracoder_jupyter.runs.trace_check import check_trace

    with show_progress("Reading the trace") as advance, redirect_stdout(sys.stderr):
        report = run_cancellable(lambda: check_trace(asked, advance), signals)
    if report is None:
        raise _Interrupted()
    return report


def _print_report(report: Report) -> None:
    if report.differs:
        print_result(f"Differences from the recorded environment: {'; '.join(report.differs)}.\n")
    width = max((len(row.id) for row in report.rows), default=0)
    for row in report.rows:
        print_result(f"{row.id:<{width}}  {row.result:<8} {one_line(row.why, _MAX_EXPLANATION)}".rstrip())
    print_result("")
    print_result(report.sentence)
