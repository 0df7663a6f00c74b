"""`jupyter explora finetune`: teaches a small model to search (ToolCoder)."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, fields
from pathlib import Path
from threading import Event
from typing import Final, get_args

from exploracoder_jupyter.cli.output import print_json, print_result, show_progress
from exploracoder_jupyter.cli.run_display import handle_interrupts
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.finetuning.training_request import Method, TrainingRequest

_NUMBERS: Final[dict[str, tuple[type[int] | type[float], str, str]]] = {
    "rank": (int, "R", "rank of the adapters"),
    "epochs": (float, "N", "passes over the data"),
    "batch": (int, "N", "rows in one step"),
    "micro_batch": (int, "N", "rows computed at once"),
    "rate": (float, "X", "learning rate"),
    "tokens": (int, "N", "longest row"),
    "held_out": (float, "X", "share not trained on"),
    "seed": (int, "N", "seed of the training"),
}
"""Numbers of a `TrainingRequest`: type, placeholder and meaning."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `finetune`."""
    parser.add_argument("data", metavar="DATA.jsonl", help="what `annotate` has written")
    parser.add_argument(
        "--base",
        required=True,
        metavar="MODEL",
        help="folder, GGUF file, installed package with one, or name that transformers resolves",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="folder for the adapter")
    default = {field.name: field.default for field in fields(TrainingRequest)}
    parser.add_argument(
        "--method",
        choices=get_args(Method),
        default=default["method"],
        help=f"qlora needs an NVIDIA GPU ({default['method']})",
    )
    parser.add_argument(
        "--targets", metavar="LAYERS", help="layers with adapters: names with commas, or all-linear (query and value)"
    )
    for name, (kind, metavar, meaning) in _NUMBERS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=default[name],
            metavar=metavar,
            help=f"{meaning} ({default[name]:g})",
        )
    parser.add_argument("--plain", action="store_true", help="train on the code without look-ups, to compare with")
    parser.add_argument("--merged", action="store_true", help="also write a complete model, for servers")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted training")


def execute(arguments: argparse.Namespace) -> int:
    """Fine-tune a model and print the losses. Returns the exit status: 1 if the held-out loss did not fall."""
    from exploracoder_jupyter.finetuning.training import TrainingReport, finetune

    _check_numbers(arguments)
    names = (field.name for field in fields(TrainingRequest))
    given = {name: getattr(arguments, name) for name in names}
    request = TrainingRequest(**{**given, "data": Path(arguments.data), "out": Path(arguments.out)})
    interrupted = Event()
    with (
        handle_interrupts(during="writing a checkpoint") as signals,
        show_progress("Starting") as advance,
        redirect_stdout(sys.stderr),
    ):
        signals.on_interrupt = interrupted.set
        report: TrainingReport = finetune(request, progress=advance, interrupted=interrupted)
    if arguments.json:
        print_json(asdict(report))
    else:
        print_result(
            f"Trained {report.steps:,} steps on {plural(report.rows, 'row')}. Loss of {plural(report.held_out, 'row')}"
            f" held out: {report.loss_before:.3f} before, {report.loss_after:.3f} after.\n"
            f"Adapter: {report.folder}" + (f"\nComplete model: {report.merged}" if report.merged else "")
        )
    return 0 if report.loss_after < report.loss_before else 1


def _check_numbers(arguments: argparse.Namespace) -> None:
    positive = ("rank", "epochs", "batch", "micro_batch", "rate", "tokens")
    wrong = [name for name in positive if getattr(arguments, name) <= 0]
    if not 0 < arguments.held_out < 1:
        wrong.append("held_out")
    if wrong:
        option = wrong[0].replace("_", "-")
        limits = "between 0 and 1" if option == "held-out" else "greater than 0"
        raise UsageError(f"--{option} takes a number {limits}.", remedy=f"Correct --{option}.")
