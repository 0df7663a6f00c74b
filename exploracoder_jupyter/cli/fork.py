"""`jupyter explora fork`: forks a running kernel; any Jupyter client can connect to the fork until interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from exploracoder_jupyter.cli.output import print_json, print_note, print_result
from exploracoder_jupyter.core.errors import MissingRequirement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fork`."""
    parser.add_argument(
        "kernel",
        metavar="CONNECTION_FILE",
        help="connection file of the running kernel, in whose environment this package must be installed",
    )
    parser.add_argument(
        "--open", action="store_true", help="do not isolate the fork: same files, network and privileges"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Fork, print the connection file, and wait. Returns the exit status: 1 if the fork ended by itself."""
    import anyio

    if not sys.platform.startswith("linux"):
        raise MissingRequirement("Kernels can be forked on Linux only.")
    return anyio.run(_serve, Path(arguments.kernel), not arguments.open, arguments.json)


async def _serve(kernel: Path, confined: bool, as_json: bool) -> int:
    import anyio

    from exploracoder_jupyter.provisioner import open_fork

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_fork(kernel, confined=confined) as fork, anyio.create_task_group() as waiting:
            if as_json:
                print_json({"connection_file": str(fork.connection_file), "isolation": fork.isolation})
            else:
                print_result(str(fork.connection_file))
                print_note(f"Isolation: {fork.isolation}. Press Ctrl-C to end the fork.")

            async def until_signal() -> None:
                await anext(signals)
                waiting.cancel_scope.cancel()

            waiting.start_soon(until_signal)
            await fork.ended()
            waiting.cancel_scope.cancel()
            print_note("The fork has ended.")
            return 1
    return 0
