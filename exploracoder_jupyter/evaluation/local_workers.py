"""Runs units in processes of this machine, each with an event loop and sibling kernels of its own.

A worker is a program in its own session, so that Ctrl-C reaches only this process. If it dies, its unit is run again by
a new one. Cancelling `run_locally` stops the units that are running and keeps all results.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Self

import anyio
import psutil

from exploracoder_jupyter.core.errors import InternalError, MissingRequirement
from exploracoder_jupyter.evaluation.records import ResultsWriter
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import MOST_ATTEMPTS, UnitExecution, UnitQueue, fault_result
from exploracoder_jupyter.evaluation.units import Unit
from exploracoder_jupyter.evaluation.worker_process import READY, STOP

Listen = Callable[[UnitResult], None]
"""Called with each result once it is stored."""
LOG = "workers.log"
_WORKER_BYTES = 600 * 1024**2
"""Memory of a worker with the siblings of one run."""
_GRACE = 30.0
"""Seconds for a worker to end its siblings and its trace after it is stopped."""
_PROGRAM = (sys.executable, "-m", "exploracoder_jupyter.evaluation.worker_process")


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for; at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, psutil.virtual_memory().available // _WORKER_BYTES))


async def run_locally(queue: UnitQueue[Unit], execution: UnitExecution, *, workers: int, listen: Listen) -> None:
    """Run the units of the queue in so many processes; each stores its results in a file of its own.

    EndpointError if the endpoint fails again and again, InternalError if workers cannot be started.
    """
    with ResultsWriter(execution.folder) as writer:
        async with anyio.create_task_group() as group:
            for _ in range(min(workers, queue.left)):
                group.start_soon(_run_units, queue, execution, writer, listen)


async def _run_units(queue: UnitQueue[Unit], execution: UnitExecution, writer: ResultsWriter, listen: Listen) -> None:
    """Run units until none is left, with a new worker after one has died."""
    worker: _Worker | None = None
    try:
        while unit := queue.take():
            worker = worker or await _Worker.start(execution)
            try:
                result = await worker.run(unit)
            except (EOFError, OSError):
                await worker.stop()
                worker = None
                if not queue.lose(unit.digest):
                    result = fault_result(unit, execution.model, f"Its worker died {MOST_ATTEMPTS} times")
                    writer.append(result)
                    listen(result)
            else:
                queue.finish(result)
                listen(result)
    finally:
        if worker:
            await worker.stop()


class _Worker:
    """A process, and the socket that leads to it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection[Any, Any]) -> None:
        self._process = process
        self._connection = connection

    @classmethod
    async def start(cls, execution: UnitExecution) -> Self:
        """Start a worker and wait until it is ready; InternalError if it ends before that, several
        times; MissingRequirement on Windows."""
        if sys.platform == "win32":  # it passes the worker a socket, which Windows cannot
            raise MissingRequirement("Benchmarks do not run on Windows.", remedy="Use WSL 2.")
        for _ in range(MOST_ATTEMPTS):
            ours, theirs = socket.socketpair()
            with theirs, (execution.folder / LOG).open("ab") as log:
                process = subprocess.Popen(
                    [*_PROGRAM, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            worker = cls(process, Connection(ours.detach()))
            try:
                worker._connection.send(execution)
                if await worker._receive() == READY:
                    return worker
            except (EOFError, OSError):
                await worker.stop()
            except BaseException:
                await worker.stop()
                raise
        raise InternalError("A worker of the evaluation ended as it started.", remedy=f"See {execution.folder / LOG}.")

    async def run(self, unit: Unit) -> UnitResult:
        """Run a unit; EOFError or OSError if the worker died."""
        self._connection.send(unit)
        result: UnitResult = await self._receive()
        return result

    async def stop(self) -> None:
        """Stop the worker, its unit and its siblings; kill what does not end."""
        with suppress(OSError):
            self._connection.send(STOP)
        self._connection.close()
        with anyio.move_on_after(_GRACE, shield=True):
            while self._process.poll() is None:
                await anyio.sleep(0.02)
            return
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self._process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self._process.kill()
        self._process.wait()

    async def _receive(self) -> Any:
        await anyio.wait_readable(self._connection)
        return self._connection.recv()
