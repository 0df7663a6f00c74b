"""What other ways take to come to the same state: each gives milliseconds from the request to the reply of a cell.

The state is the prefix: imports and 0.1 s of work. Only `dill` and Kishu bring arrays along; re-running the prefix
does not make them again, which favours it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from user_kernel import now_ms

PREFIX = """
import pandas
import matplotlib.pyplot
import time
_end = time.perf_counter() + 0.1
while time.perf_counter() < _end: pass
"""
TRIVIAL = "pass"
ARRAY_MB = 50
_DUMP = """
import dill, sys, time, types
exec(sys.argv[3] + sys.argv[4])
kept = {name: value for name, value in globals().items()
        if not name.startswith("__") and name not in ("dill", "sys", "types", "kept")}
sys.stdin.readline()
begun = time.perf_counter()
with open(sys.argv[1], "wb") as file:
    dill.dump(kept, file)
print((time.perf_counter() - begun) * 1000)
"""
_LOAD = """
import dill, sys, time
begun = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    globals().update(dill.load(file))
assert sum(map(len, arrays)) == int(sys.argv[2])
print((time.perf_counter() - begun) * 1000)
"""


def arrays(megabytes: int) -> str:
    """Code that makes this much live state, all of it written to."""
    rows = ARRAY_MB * 1_000_000 // 8
    return (
        f"import numpy\narrays = [numpy.random.default_rng(n).random({rows}) for n in range({megabytes // ARRAY_MB})]"
    )


async def fresh_kernel() -> float:
    """A kernel is started, runs the prefix, and runs a cell."""
    manager = AsyncKernelManager(kernel_name="python3")
    begun = now_ms()
    await manager.start_kernel(stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    for code in (PREFIX, TRIVIAL):
        reply = await client.execute(code, reply=True, timeout=60)
        assert reply["content"]["status"] == "ok"
    taken = now_ms() - begun
    client.stop_channels()
    await manager.shutdown_kernel(now=True)
    return taken


async def nbclient() -> float:
    """nbclient executes a notebook of two cells, the prefix and another."""
    cells = [nbformat.v4.new_code_cell(code) for code in (PREFIX, TRIVIAL)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, kernel_name="python3")
    begun = now_ms()
    async with client.async_setup_kernel(stderr=subprocess.DEVNULL):
        for number, cell in enumerate(notebook.cells):
            await client.async_execute_cell(cell, number)
        taken = now_ms() - begun
    return taken


class Dill:
    """A process that has the state and dumps it as often as it is asked; a fresh process loads it, dill imported."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self._file, self._megabytes = folder / "state.pkl", megabytes

    def once(self) -> tuple[float, float]:
        """Milliseconds of the dump and of the load; the file is in memory."""
        dump = [sys.executable, "-c", _DUMP, str(self._file), "-", PREFIX, arrays(self._megabytes)]
        length = ARRAY_MB * 1_000_000 // 8 * (self._megabytes // ARRAY_MB)
        load = [sys.executable, "-c", _LOAD, str(self._file), str(length)]
        try:
            times = [
                subprocess.run(command, input="\n", capture_output=True, text=True, check=True).stdout
                for command in (dump, load)
            ]
        finally:
            self._file.unlink(missing_ok=True)
        return json.loads(times[0]), json.loads(times[1])
