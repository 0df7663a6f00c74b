"""`jupyter explora fork`: a fork of a running kernel that any Jupyter client can attach to, until it is interrupted."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.terminal.standard_streams import emit, note, say

if TYPE_CHECKING:
    from exploracoder_jupyter.provisioner import Served


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fork`."""
    parser.add_argument(
        "kernel", metavar="CONNECTION_FILE", help="of the running kernel; this package is installed there"
    )
    parser.add_argument(
        "--open", action="store_true", help="do not confine the fork: the same files, network and rights"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Fork, tell the connection file, wait. Returns the exit status: 1 when the fork ended by itself.

    Raises:
        ExploraError: the kernel could not be forked.
    """
    import anyio

    return anyio.run(_serve, Path(arguments.kernel), not arguments.open, arguments.json)


async def _serve(kernel: Path, confined: bool, as_json: bool) -> int:
    import anyio

    from exploracoder_jupyter.provisioner import open_fork

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_fork(kernel, confined=confined) as fork, anyio.create_task_group() as waiting:
            _tell(fork, as_json=as_json)

            async def until_signal() -> None:
                await anext(signals)
                waiting.cancel_scope.cancel()

            waiting.start_soon(until_signal)
            await fork.ended()
            waiting.cancel_scope.cancel()
            note("The fork has ended.")
            return 1
    return 0


def _tell(fork: Served, *, as_json: bool) -> None:
    if as_json:
        emit({"connection_file": str(fork.connection_file), "isolation": fork.isolation})
    else:
        say(str(fork.connection_file))
        note(f"Isolation: {fork.isolation}. To end it: Ctrl-C.")
