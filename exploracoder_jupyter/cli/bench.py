"""`jupyter explora bench`: measures strategies and models on problems with hidden tests, and reports the results.

Progress goes to standard error, the table to standard output. Exit status: 0 if every unit has a result of its own; 1
if units are left, because of an interrupt, the endpoint or a fault of this program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_json, print_note, print_result, show_evaluation, write_line
from exploracoder_jupyter.cli.run_display import InterruptHandler, handle_interrupts, run_cancellable
from exploracoder_jupyter.core.configuration.options import add_options, positive, settings_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.text.characters import printable

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.evaluation import EvaluationRequest, Results
    from exploracoder_jupyter.evaluation.evaluation_run import ShowProgress
    from exploracoder_jupyter.evaluation.report import ResultTable

_REPORT = "report"
_WIDTH = 160
"""Characters of a table without a terminal."""
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
        "--strategy",
        dest="strategies",
        type=_split_names,
        action="extend",
        metavar="STRATEGY",
        help="strategies to compare, separated by commas; can be repeated (rag,adaptive)",
    )
    parser.add_argument(
        "--samples", type=positive, default=1, metavar="N", help="runs of each strategy per problem (1)"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N problems of each file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=positive, metavar="W", help="processes on this machine (by its cores and free memory)"
    )
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster of this scheduler, tcp://...")
    parser.add_argument("--rpm", type=positive, metavar="N", help="maximum requests a minute, of all workers together")
    parser.add_argument("--tpm", type=positive, metavar="N", help="maximum tokens a minute, of all workers together")
    parser.add_argument(
        "--concurrent", type=positive, metavar="N", help="maximum concurrent requests, of all workers together"
    )
    parser.add_argument(
        "--out", dest="folder", metavar="DIR", help="folder of the results (evaluations/<problem set>-<time>)"
    )
    replies = parser.add_mutually_exclusive_group()
    replies.add_argument("--record", metavar="DIR", help="record the model's replies in this folder, and reuse them")
    replies.add_argument("--replay", metavar="DIR", help="use the replies recorded in this folder instead of a model")
    parser.add_argument("--resume", action="store_true", help="continue the evaluation in the folder of --out")
    parser.add_argument("--html", metavar="PATH", help="path of the report page (report.html in that folder)")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    add_options(parser, place="command", sections=_SECTIONS, without={"strategy"})  # it takes several


def execute(arguments: argparse.Namespace) -> int:
    """Run an evaluation, or report one. Returns the exit status."""
    from exploracoder_jupyter.evaluation.report import write_report

    results = _read_report(arguments.problems[1:]) if arguments.problems[0] == _REPORT else _evaluate(arguments)
    page = write_report(results.rows, results.folder, Path(arguments.html) if arguments.html else None)
    _print(results, page, as_json=arguments.json, as_markdown=arguments.markdown)
    return 1 if results.left else 0


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read_report(folders: Sequence[str]) -> Results:
    from exploracoder_jupyter.evaluation.evaluation_run import load_results

    if len(folders) != 1:
        raise UsageError(
            "`bench report` takes one folder of results.", remedy="For example: bench report evaluations/x"
        )
    return load_results(Path(folders[0]))


def _evaluate(arguments: argparse.Namespace) -> Results:
    with (
        handle_interrupts(during="ending the active units") as signals,
        show_evaluation() as progress,
        redirect_stdout(sys.stderr),
    ):
        results = _run(arguments, progress, signals)
    if results.left:
        again = f"--resume --out {results.folder}"
        print_note(f"{plural(results.left, 'unit')} left. To continue, repeat the command with {again}.")
    return results


def _run(arguments: argparse.Namespace, progress: ShowProgress, signals: InterruptHandler) -> Results:
    from exploracoder_jupyter.evaluation.evaluation_run import aevaluate, load_results

    folders: list[Path] = []

    def started(folder: Path) -> None:
        folders.append(folder)
        print_note(f"Results: {folder}")

    async def main() -> Results:
        request = await _request(arguments)
        print_note(request.estimate)
        return await aevaluate(request, progress=progress, started=started)

    results = run_cancellable(main, signals)
    if results is not None:
        return results
    if not folders:
        raise KeyboardInterrupt
    return load_results(folders[0])


async def _request(arguments: argparse.Namespace) -> EvaluationRequest:
    from exploracoder_jupyter.core.configuration.sources import resolve
    from exploracoder_jupyter.evaluation import EvaluationRequest, Limits
    from exploracoder_jupyter.evaluation.evaluation_run import STRATEGIES, read_problems, recorded_replies

    settings = resolve(settings_layer(arguments))
    return EvaluationRequest(
        await read_problems(arguments.problems, settings, limit=arguments.limit, notify=print_note),
        tuple(dict.fromkeys(arguments.strategies or STRATEGIES)),
        settings,
        arguments.samples,
        Path(arguments.folder) if arguments.folder else None,
        arguments.resume,
        arguments.workers,
        arguments.scheduler,
        Limits(arguments.rpm, arguments.tpm, arguments.concurrent),
        recorded_replies(arguments.record, arguments.replay),
    )


def _print(results: Results, page: Path, *, as_json: bool, as_markdown: bool) -> None:
    from exploracoder_jupyter.evaluation.report import cost_table, markdown, quality_table, summary_as_json
    from exploracoder_jupyter.evaluation.statistics import summarize

    summary = summarize(results.rows)
    if as_json:
        fields: dict[str, JsonValue] = {"folder": str(results.folder), "left": results.left, "page": str(page)}
        return print_json({**fields, **summary_as_json(summary)})
    if as_markdown:
        return print_result(markdown(summary).rstrip("\n"))
    if summary.arms:
        for table in (quality_table(summary), cost_table(summary)):
            _print_table(table)
    for notice in summary.notices:
        print_note(notice)
    print_result(f"Report: {page}")


def _print_table(table: ResultTable) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, title_justify="left")
    shown.add_column(table.caption)
    for column in table.columns:
        shown.add_column(column.title, justify="right")
    for row in table.rows:
        cells = (f"{cell.value}\n{cell.interval}".rstrip() for cell in row.cells)
        shown.add_row(*map(printable, (row.name, *cells)))
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH)
    with console.capture() as captured:
        console.print(shown, markup=False)
    write_line(sys.stdout, captured.get().rstrip("\n"))
