"""A worker of this machine, a program: runs the units that it receives one at a time, and sends back their results.

    python -m exploracoder_jupyter.evaluation.worker_process FD

The messages on the socket are pickles: first a `UnitExecution`, answered by `READY`, then units, each answered by its
`UnitResult`. The result is stored before it is sent. `STOP`, or the end of the socket because the starter is gone,
cancels the unit that is running and ends the program.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from typing import Any, Final

import anyio
from anyio.abc import ObjectSendStream

from exploracoder_jupyter.evaluation.records import ResultsWriter
from exploracoder_jupyter.evaluation.scheduling import LocalRateLimit, UnitExecution, execute_unit
from exploracoder_jupyter.evaluation.units import Unit

READY: Final = "ready"
STOP: Final = None
RATE_LIMIT_FOLDER: Final = ".rate-limit"


async def serve(connection: Connection[Any, Any]) -> None:
    """Run units until the starter stops this worker."""
    execution: UnitExecution = connection.recv()
    limit = LocalRateLimit(execution.folder / RATE_LIMIT_FOLDER, execution.limits)
    send, received = anyio.create_memory_object_stream[Unit](1)
    with ResultsWriter(execution.folder) as writer:
        connection.send(READY)
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, connection, send, group.cancel_scope)
            async for unit in received:
                result = await execute_unit(unit, execution, limit)
                writer.append(result)
                connection.send(result)


async def _receive(connection: Connection[Any, Any], send: ObjectSendStream[Unit], scope: anyio.CancelScope) -> None:
    """Pass on units; at `STOP` or at the end of the socket cancel everything."""
    while True:
        await anyio.wait_readable(connection)
        try:
            unit = connection.recv()
        except (EOFError, OSError):
            unit = STOP
        if unit is STOP:
            return scope.cancel()
        await send.send(unit)


if __name__ == "__main__":
    anyio.run(serve, Connection(int(sys.argv[1])))
