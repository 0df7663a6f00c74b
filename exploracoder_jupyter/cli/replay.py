"""`jupyter explora replay`: runs a recorded run again with its recorded replies, without a model.

Exit status: 0 if it took the same course as the recorded run, 1 if it took a different one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_json, print_result
from exploracoder_jupyter.cli.run_display import print_summary, run_with_display

if TYPE_CHECKING:
    from exploracoder_jupyter.runs import Listener, Replay, RunSteering, Summary


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `replay`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run, or its journal")
    parser.add_argument(
        "--out", metavar="TRACE2", help="path of the new trace notebook (<name>-replayed.ipynb next to TRACE)"
    )
    parser.add_argument(
        "--delay",
        choices=("recorded", "none"),
        default="none",
        help="recorded: delay the replies as in the recorded run (none)",
    )
    parser.add_argument(
        "--before", metavar="FILE", help=".py or .ipynb to run first, to define variables of the run's kernel"
    )
    parser.add_argument("--kernel", metavar="KERNELSPEC", help="kernelspec, or path of an interpreter, to run in")
    parser.add_argument("--workdir", metavar="FOLDER", help="folder with the files that the run used (the trace's)")


def execute(arguments: argparse.Namespace) -> int:
    """Replay the run and print the result. Returns the exit status."""

    async def replay(order: Replay, listen: Listener, steering: RunSteering) -> Summary:
        from exploracoder_jupyter import runs

        return await runs.replay(order, listen, steering=steering)

    _, summary = run_with_display(lambda: _build_replay(arguments), replay)
    replay_summary = summary["replay"]
    assert isinstance(replay_summary, dict)
    if arguments.json:
        print_json(summary)
    else:
        print_summary(summary)
        print_result(str(replay_summary["course"]))
    return 0 if replay_summary["same_course"] and not summary.get("trace_problem") else 1


def _build_replay(arguments: argparse.Namespace) -> Replay:
    from exploracoder_jupyter.runs import prepare_replay

    return prepare_replay(
        Path(arguments.trace),
        Path(arguments.out) if arguments.out else None,
        delay=arguments.delay,
        before=Path(arguments.before) if arguments.before else None,
        kernel=arguments.kernel,
        workdir=Path(arguments.workdir) if arguments.workdir else None,
    )
