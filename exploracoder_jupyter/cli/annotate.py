"""`jupyter explora annotate`: adds look-ups with real answers to code, as data for `finetune` (ToolCoder)."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.output import print_json, print_note, print_result, show_progress
from exploracoder_jupyter.core.configuration.options import add_options, settings_layer
from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from exploracoder_jupyter.finetuning.annotation_run import AnnotationState


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `annotate`."""
    parser.add_argument(
        "corpora", nargs="*", metavar="CORPUS", help="folder or file of Python code or notebooks, or installed package"
    )
    parser.add_argument(
        "--library",
        action="append",
        required=True,
        metavar="LIB",
        help="library whose calls are looked up; can be repeated",
    )
    parser.add_argument("--out", required=True, metavar="DATA.jsonl", help="file for the annotated code")
    parser.add_argument("--snippets", action="store_true", help="add the code stored from earlier explorations")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PROBLEMS",
        help="problem file (JSON lines) with which no sample may share text; can be repeated",
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted command")
    add_options(parser, place="command", sections=("endpoint", "retrieval"))


def execute(arguments: argparse.Namespace) -> int:
    """Annotate a corpus and print the counts. Returns the exit status: 1 if no sample is usable."""
    check_installed(arguments.library, arguments)
    import anyio

    from exploracoder_jupyter.finetuning.annotation_run import AnnotationRequest, annotate_corpus

    request = AnnotationRequest(
        tuple(arguments.corpora),
        tuple(arguments.library),
        Path(arguments.out),
        tuple(map(Path, arguments.exclude)),
        arguments.snippets,
        arguments.model is not None,
        arguments.resume,
        (settings_layer(arguments),),
    )
    try:
        with show_progress("Starting") as advance, redirect_stdout(sys.stderr):
            state = anyio.run(lambda: annotate_corpus(request, progress=advance, say=print_note))
    except KeyboardInterrupt:
        raise ExploraError(
            f"Interrupted; finished rows are in {request.out}.", remedy="Add --resume to continue."
        ) from None
    if arguments.json:
        print_json({"path": str(request.out), **state.report()})
    else:
        print_result(_counts(state, request.out))
    return 0 if state.rows else 1


def _counts(state: AnnotationState, out: Path) -> str:
    lines = [
        f"{state.rows:,} of {state.samples:,} samples annotated, with {state.searches:,} searches: {out}",
        f"{state.wrong_answers:,} look-ups have an answer that does not name the API.",
        *(f"{number:>8,} left out: {reason}" for reason, number in state.left_out.items()),
    ]
    if state.invalid:
        lines.append(f"{state.invalid:,} files are not valid Python.")
    return "\n".join(lines)
