"""`jupyter explora bench`: measures strategies and models on problems with hidden tests, and reports the results.

Progress goes to standard error, the table to standard output. Exit status: 0 if every unit has a result of its own; 1
if units are left, because of an interrupt, the endpoint or a fault of this program.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exploracoder_jupyter.cli.display.evaluation_progress import show_evaluation
from exploracoder_jupyter.cli.display.interrupts import InterruptHandler, handle_interrupts
from exploracoder_jupyter.cli.display.standard_streams import print_json, print_note, print_result
from exploracoder_jupyter.core.configuration.command_options import add_section_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.message_wording import plural

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.evaluation import EvaluationRequest, Results
    from exploracoder_jupyter.evaluation.evaluation_run import ShowProgress
    from exploracoder_jupyter.evaluation.measures.summary import Arm

_REPORT = "report"
_SECTIONS = ("exploration", "retrieval", "budget", "endpoint", "sandbox")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "problems",
        nargs="+",
        metavar="PROBLEMS",
        help="problem files (JSON lines); or `report` and a folder of results",
    )
    parser.add_argument(
        "--strategy", nargs="+", action="extend", metavar="S", help="strategies to compare (rag, explore)"
    )
    parser.add_argument(
        "--samples", type=_positive, default=1, metavar="N", help="runs of each strategy per problem (1)"
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="only the first N problems of each file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=_positive, metavar="W", help="processes on this machine (by its cores and free memory)"
    )
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster of this scheduler, tcp://...")
    parser.add_argument("--rpm", type=_positive, metavar="N", help="maximum requests a minute, of all workers together")
    parser.add_argument("--tpm", type=_positive, metavar="N", help="maximum tokens a minute, of all workers together")
    parser.add_argument(
        "--concurrent", type=_positive, metavar="N", help="maximum concurrent requests, of all workers together"
    )
    parser.add_argument(
        "--out", dest="folder", metavar="DIR", help="folder of the results (evaluations/<problem set>-<time>)"
    )
    replies = parser.add_mutually_exclusive_group()
    replies.add_argument("--record", metavar="DIR", help="record the model's replies in this folder, and reuse them")
    replies.add_argument("--replay", metavar="DIR", help="use the replies recorded in this folder instead of a model")
    parser.add_argument("--resume", action="store_true", help="continue the evaluation in the folder of --out")
    add_section_options(parser, _SECTIONS, place="command")


def execute(arguments: argparse.Namespace) -> int:
    """Run an evaluation, or report one. Returns the exit status.

    Raises:
        ExploraError: the evaluation cannot be run, or ended early; its folder can be resumed.
    """
    results = _read_report(arguments.problems[1:]) if arguments.problems[0] == _REPORT else _evaluate(arguments)
    _print(results, as_json=arguments.json)
    return 1 if results.left else 0


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"takes a whole number from 1, not {text!r}")
    return number


def _read_report(folders: Sequence[str]) -> Results:
    from exploracoder_jupyter.evaluation.evaluation_run import load_results

    if len(folders) != 1:
        raise UsageError(
            "`bench report` takes one folder of results.", remedy="For example: bench report evaluations/x"
        )
    return load_results(Path(folders[0]))


def _evaluate(arguments: argparse.Namespace) -> Results:
    with handle_interrupts(during="ending the active units") as signals:
        try:
            with show_evaluation() as progress, redirect_stdout(sys.stderr):
                results = _run(arguments, progress, signals)
        finally:
            signals.on_interrupt = None  # the loop is closed
    if results.left:
        print_note(f"{plural(results.left, 'unit')} left. To continue, repeat the command with {_resume(results)}.")
    return results


def _resume(results: Results) -> str:
    return f"--resume --out {results.folder}"


def _run(arguments: argparse.Namespace, progress: ShowProgress, signals: InterruptHandler) -> Results:
    import anyio

    from exploracoder_jupyter.evaluation.evaluation_run import aevaluate, load_results

    folders: list[Path] = []

    def started(folder: Path) -> None:
        folders.append(folder)
        print_note(f"Results: {folder}")

    async def main() -> Results:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            signals.on_interrupt = lambda: _call_soon(loop, scope.cancel)
            request = await _request(arguments)
            print_note(request.estimate)
            return await aevaluate(request, progress=progress, started=started)
        if not folders:
            raise KeyboardInterrupt
        return load_results(folders[0])

    return anyio.run(main)


async def _request(arguments: argparse.Namespace) -> EvaluationRequest:
    from exploracoder_jupyter.core.configuration.settings_sources import resolve
    from exploracoder_jupyter.evaluation import EvaluationRequest, Limits
    from exploracoder_jupyter.evaluation.evaluation_run import STRATEGIES, read_problems, recorded_replies

    settings = resolve(settings_layer(arguments))
    return EvaluationRequest(
        await read_problems(arguments.problems, settings, limit=arguments.limit, notify=print_note),
        tuple(dict.fromkeys(arguments.strategy or STRATEGIES)),
        settings,
        arguments.samples,
        Path(arguments.folder) if arguments.folder else None,
        arguments.resume,
        arguments.workers,
        arguments.scheduler,
        Limits(arguments.rpm, arguments.tpm, arguments.concurrent),
        recorded_replies(arguments.record, arguments.replay),
    )


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(callback)


def _print(results: Results, *, as_json: bool) -> None:
    from exploracoder_jupyter.evaluation.measures.summarize import summarize

    rows = [_arm_fields(arm) for arm in summarize(results.rows).arms]
    if as_json:
        return print_json({"folder": str(results.folder), "left": results.left, "arms": [*rows]})
    _print_table(rows)


def _arm_fields(arm: Arm) -> dict[str, JsonValue]:
    """Return the figures of a strategy with a model; each estimate with its 95 % interval."""
    estimates: dict[str, JsonValue] = {
        key: {"value": one.value, "low": _finite(one.low), "high": _finite(one.high)}
        for key, one in arm.estimates.items()
    }
    return {
        "strategy": arm.strategy,
        "model": arm.model,
        "problems": arm.problems,
        "units": arm.samples,
        "estimates": estimates,
        "failures": {failure.kind: failure.count for failure in arm.failures},
        "total_tokens": arm.total_tokens,
        "total_cost": arm.total_cost,
    }


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and math.isfinite(bound) else None


def _print_table(rows: Sequence[dict[str, JsonValue]]) -> None:
    """Print the share of solved units and the tokens of a unit, both with their 95 % intervals."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("strategy", "model", "units", "pass@1", "tokens", "total tokens"):
        table.add_column(name, justify="left" if name in ("strategy", "model") else "right", no_wrap=True)
    for row in rows:
        figures = (_percent(_estimate(row, "pass@1")), _number(_estimate(row, "tokens")), f"{row['total_tokens']:,}")
        table.add_row(str(row["strategy"]), str(row["model"]), str(row["units"]), *figures)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120)
    with console.capture() as captured:
        console.print(table)
    print_result(captured.get().rstrip("\n"))


def _estimate(row: Mapping[str, Any], key: str) -> tuple[float | None, float | None, float | None]:
    found = row["estimates"][key]
    return found["value"], found["low"], found["high"]


def _percent(estimate: tuple[float | None, float | None, float | None]) -> str:
    return _with_interval([None if value is None else f"{100 * value:.1f}" for value in estimate], " %")


def _number(estimate: tuple[float | None, float | None, float | None]) -> str:
    return _with_interval([None if value is None else f"{value:,.0f}" for value in estimate], "")


def _with_interval(texts: Sequence[str | None], unit: str) -> str:
    value, low, high = texts
    if value is None:
        return "-"
    return f"{value}{unit} ({low or '-'} to {high or '-'})" if low or high else f"{value}{unit}"
