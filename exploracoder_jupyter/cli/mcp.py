"""`jupyter explora mcp`: serves tools for coding agents by the Model Context Protocol."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from exploracoder_jupyter.cli.output import print_json, print_note
from exploracoder_jupyter.core.errors import UsageError

_LEAST_TOKEN = 16
_MAX_PORT = 65535


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mcp`."""
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve on this port of the loopback interface, 0 for any free one, instead of the standard streams",
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        help=f"with --http: what clients send, at least {_LEAST_TOKEN} characters; else one is made",
    )
    parser.add_argument("--workdir", metavar="FOLDER", help="where fresh kernels start and traces are written")
    parser.add_argument(
        "--trace", metavar="FILE.ipynb", help="write each variant that is tried, with its outputs, to this new notebook"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the client closes the streams, or until interrupted. Returns the exit status."""
    if arguments.http is not None and not 0 <= arguments.http <= _MAX_PORT:
        raise UsageError(f"--http takes a port from 0 to {_MAX_PORT}, not {arguments.http}.", remedy="Try --http 0.")
    if arguments.token is not None and arguments.http is None:
        raise UsageError("--token is used only with --http.", remedy="Add --http PORT, or leave it out.")
    if arguments.token is not None and len(arguments.token) < _LEAST_TOKEN:
        raise UsageError(
            f"The token is too short to be safe: {len(arguments.token)} characters.", remedy="Leave it out."
        )
    if arguments.json and arguments.http is None:
        raise UsageError(
            "--json is used only with --http.", remedy="Leave it out: the standard streams carry messages."
        )
    workdir = Path(arguments.workdir or ".").absolute()
    if not workdir.is_dir():
        raise UsageError(f"{workdir} is not a folder.", remedy="Give the folder of your project with --workdir.")
    trace = Path(arguments.trace).absolute() if arguments.trace else None
    import anyio

    token = arguments.token or secrets.token_urlsafe(24)
    return anyio.run(_serve, arguments.http, workdir, trace, token, arguments.json)


async def _serve(port: int | None, workdir: Path, trace: Path | None, token: str, as_json: bool) -> int:
    from exploracoder_jupyter.agent_tools import protocol_sdk
    from exploracoder_jupyter.agent_tools.tool_server import open_tools

    tries = None
    if trace is not None:
        from exploracoder_jupyter.agent_tools.tries_notebook import TriesNotebook

        tries = TriesNotebook.create(trace)
    async with open_tools(workdir, tries=tries) as server:
        if port is None:
            await protocol_sdk.serve_streams(server)
        else:
            await protocol_sdk.serve_http(server, port, token, lambda address: _tell(address, token, as_json))
    return 0


def _tell(address: str, token: str, as_json: bool) -> None:
    if as_json:
        print_json({"url": address, "token": token})
        return
    print_note(f"Serving agents at {address}. Clients send the header: Authorization: Bearer {token}")
