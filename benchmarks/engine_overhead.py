"""What branching and running cost beside the executed code: `python benchmarks/engine_overhead.py [--rounds N]`.

Prints medians of one run on one machine: starting a sibling, forking with a warm one and with none ready, a round trip,
and the time that a cell of known length takes beyond its own.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunBranch, RerunSiblings

CELL_SECONDS = 0.2
CELL = f"import time\nend = time.perf_counter() + {CELL_SECONDS}\nwhile time.perf_counter() < end: pass"


async def median_ms(action: Callable[[], Awaitable[object]], rounds: int) -> float:
    """Median duration of the action in milliseconds."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        await action()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


async def forked(base: RerunBranch) -> None:
    """One fork that runs something and ends."""
    (branch,) = await base.fork(1)
    await branch.run("1", timeout=30)
    await branch.close()


async def started(siblings: RerunSiblings) -> None:
    """One sibling, started and ended."""
    await siblings.factory.dispose(await siblings.factory.start())


async def measure(rounds: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        async with RerunSiblings(Sandbox(), workdir=Path(folder)) as siblings:
            print(f"isolation   {siblings.environment().isolation}")
            base = await siblings.root()
            await base.run("x = 1", timeout=30)
            warm = []
            for _ in range(rounds):
                await anyio.sleep(3)  # time for the pool to refill, as when a model writes
                warm.append(await median_ms(lambda: forked(base), 1))
            start = await median_ms(lambda: started(siblings), rounds)
            row("start and end a sibling", start)
            row("fork, run and close, warm", statistics.median(warm))
            row("  the same as a share of a start", statistics.median(warm) / start, unit="")
            row("fork, run and close, one upon another", await median_ms(lambda: forked(base), rounds))
            row("round trip of `1`", await median_ms(lambda: base.run("1", timeout=30), rounds * 10))
            cell = await median_ms(lambda: base.run(CELL, timeout=30), rounds)
            row(f"a cell of {CELL_SECONDS * 1000:.0f} ms, overhead", cell - CELL_SECONDS * 1000)


def row(what: str, value: float, unit: str = " ms") -> None:
    """Print one figure."""
    print(f"{what:<42}{value:>10.2f}{unit}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    anyio.run(measure, parser.parse_args().rounds)
