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
from pathlib import Path
from typing import Any, Self

import anyio
import psutil

from exploracoder_jupyter.core.errors import InternalError
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.scheduling.results_store import ResultsWriter
from exploracoder_jupyter.evaluation.scheduling.retry_policy import MOST_ATTEMPTS
from exploracoder_jupyter.evaluation.scheduling.unit_execution import Unit, UnitExecution, fault_result
from exploracoder_jupyter.evaluation.scheduling.unit_queue import UnitQueue
from exploracoder_jupyter.evaluation.scheduling.worker_process import READY, STOP

Listen = Callable[[UnitResult], None]
"""Called with each result once it is stored."""
LOG = "workers.log"
_WORKER_BYTES = 600 * 1024**2
"""Memory of a worker with the siblings of one run."""
_GRACE = 30.0
"""Seconds for a worker to end its siblings and its trace after it is stopped."""
_PROGRAM = (sys.executable, "-m", "exploracoder_jupyter.evaluation.scheduling.worker_process")


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for; at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, psutil.virtual_memory().available // _WORKER_BYTES))


async def run_locally(queue: UnitQueue[Unit], execution: UnitExecution, *, workers: int, listen: Listen) -> None:
    """Run the units of the queue; each worker stores its results in a file of its own.

    Args:
        queue: the units that are left.
        execution: what to do with them.
        workers: number of processes.
        listen: called with each result.

    Raises:
        EndpointError: the endpoint fails again and again.
        InternalError: workers cannot be started.
        OSError: a result cannot be stored.
    """
    with ResultsWriter(execution.folder) as writer:
        async with anyio.create_task_group() as group:
            for _ in range(min(workers, queue.left)):
                group.start_soon(_WorkerSlot(queue, execution, writer, listen).work)


class _WorkerSlot:
    """Runs one worker at a time."""

    def __init__(self, queue: UnitQueue[Unit], execution: UnitExecution, writer: ResultsWriter, listen: Listen) -> None:
        self._queue = queue
        self._execution = execution
        self._writer = writer
        self._listen = listen
        self._worker: _Worker | None = None

    async def work(self) -> None:
        """Run units until none is left, with a new worker after one has died."""
        try:
            while unit := self._queue.take():
                self._worker = self._worker or await _Worker.start(self._execution)
                try:
                    result = await self._worker.run(unit)
                except (EOFError, OSError):
                    await self._replace_worker(unit)
                else:
                    self._queue.finish(result)
                    self._listen(result)
        finally:
            await self._stop_worker()

    async def _replace_worker(self, unit: Unit) -> None:
        await self._stop_worker()
        if not self._queue.lose(unit.digest):
            result = fault_result(unit, self._execution.model, f"Its worker died {MOST_ATTEMPTS} times")
            self._writer.append(result)
            self._listen(result)

    async def _stop_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            with anyio.CancelScope(shield=True):
                await worker.stop()


class _Worker:
    """A process, and the socket that leads to it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection[Any, Any]) -> None:
        self._process = process
        self._connection = connection

    @classmethod
    async def start(cls, execution: UnitExecution) -> Self:
        """Start a worker and wait until it is ready.

        Raises:
            InternalError: it ends before that, several times.
        """
        for _ in range(MOST_ATTEMPTS):
            worker = cls(*_start_process(execution.folder))
            try:
                worker._connection.send(execution)
                if await worker._receive() == READY:
                    return worker
            except (EOFError, OSError):
                await worker.stop()
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await worker.stop()
                raise
        raise InternalError("A worker of the evaluation ended as it started.", remedy=f"See {execution.folder / LOG}.")

    async def run(self, unit: Unit) -> UnitResult:
        """Run a unit.

        Raises:
            EOFError, OSError: the worker died.
        """
        self._connection.send(unit)
        result: UnitResult = await self._receive()
        return result

    async def stop(self) -> None:
        """Stop the worker, its unit and its siblings; kill what does not end."""
        with suppress(OSError):
            self._connection.send(STOP)
        self._connection.close()
        with anyio.move_on_after(_GRACE):
            while self._process.poll() is None:
                await anyio.sleep(0.02)
            return
        _kill_tree(self._process)

    async def _receive(self) -> Any:
        await anyio.wait_readable(self._connection)
        return self._connection.recv()


def _start_process(folder: Path) -> tuple[subprocess.Popen[bytes], Connection[Any, Any]]:
    ours, theirs = socket.socketpair()
    with theirs, (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [*_PROGRAM, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return process, Connection(ours.detach())


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()
