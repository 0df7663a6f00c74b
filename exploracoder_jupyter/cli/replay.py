"""`jupyter explora replay`: a recorded run once more, with its replies and without a model.

Exit status: 0 where it took the same course as the recorded run, 1 where it took another one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.run import show
from exploracoder_jupyter.cli.terminal.followed_run import followed
from exploracoder_jupyter.cli.terminal.standard_streams import emit, say

if TYPE_CHECKING:
    from exploracoder_jupyter.runs import Listener, Replay, RunSteering, Summary


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `replay`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run, or its journal")
    parser.add_argument(
        "--out", metavar="TRACE2", help="path of the new trace notebook (<name>-replayed.ipynb beside TRACE)"
    )
    parser.add_argument(
        "--delay",
        choices=("recorded", "none"),
        default="none",
        help="recorded: the replies take as long as they did (none)",
    )
    parser.add_argument("--before", metavar="FILE", help=".py or .ipynb to run first: what the kernel of the run had")
    parser.add_argument("--kernel", metavar="KERNELSPEC", help="kernelspec, or path of an interpreter, to run in")
    parser.add_argument("--workdir", metavar="FOLDER", help="folder with the files that the run had (the trace's)")


def execute(arguments: argparse.Namespace) -> int:
    """Show the run again. Returns the exit status.

    Raises:
        ExploraError: it could not be shown.
    """
    _, summary = followed(lambda: _ordered(arguments), _replay)
    told = summary["replay"]
    assert isinstance(told, dict)
    if arguments.json:
        emit(summary)
    else:
        show(summary)
        say(str(told["course"]))
    return 0 if told["same_course"] and not summary.get("trace_problem") else 1


def _ordered(arguments: argparse.Namespace) -> Replay:
    from exploracoder_jupyter.runs import replayed

    return replayed(
        Path(arguments.trace),
        Path(arguments.out) if arguments.out else None,
        delay=arguments.delay,
        before=Path(arguments.before) if arguments.before else None,
        kernel=arguments.kernel,
        workdir=Path(arguments.workdir) if arguments.workdir else None,
    )


async def _replay(asked: Replay, listen: Listener, steering: RunSteering) -> Summary:
    from exploracoder_jupyter.runs import replay

    return await replay(asked, listen, steering=steering)
