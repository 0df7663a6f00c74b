"""What scheduling costs: scripted units on local processes and a local Dask cluster, and the time of reading results.

    python benchmarks/evaluation_workers.py [--units 1000] [--seconds 0.0] [--workers 1 2 4] [--rows 100000]

A unit waits `--seconds`, as for a model, and returns. The start of the workers is measured apart, as the time until the
first result. Prints one JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from exploracoder_jupyter.evaluation.dask_workers import connect, create_shared_times, run_on_cluster
from exploracoder_jupyter.evaluation.local_workers import run_locally
from exploracoder_jupyter.evaluation.records import ResultsWriter, read_results, write_parquet
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import Limits, LocalRateLimit, UnitExecution, UnitQueue
from tests.scripted_units import result_of, run_quietly, units


class Clock:
    """Notes when results arrive."""

    def __init__(self) -> None:
        self.began, self.first, self.last, self.solved = time.perf_counter(), 0.0, 0.0, 0

    def __call__(self, result: UnitResult) -> None:
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.solved += result.passed


async def measure(kind: str, workers: int, count: int, seconds: float, folder: Path) -> dict[str, object]:
    queue, clock = UnitQueue(units(count, seconds=seconds)), Clock()
    execution = UnitExecution(run_quietly, folder, "bench", "scripted", Limits())
    if kind == "local":
        await run_locally(queue, execution, workers=workers, listen=clock)
    else:
        from distributed import LocalCluster

        async with LocalCluster(
            n_workers=workers, threads_per_worker=1, asynchronous=True, dashboard_address="127.0.0.1:0"
        ) as local:
            clock.began = time.perf_counter()
            async with connect(local.scheduler_address) as client:
                await create_shared_times(client, "bench")
                await run_on_cluster(queue, execution, client=client, listen=clock)
    elapsed = clock.last - clock.first
    return {
        "kind": kind,
        "workers": workers,
        "units": count,
        "unit seconds": seconds,
        "first result after": round(clock.first - clock.began, 2),
        "seconds": round(elapsed, 2),
        "overhead of a unit on a worker, ms": round(1000 * (elapsed * workers / (count - 1) - seconds), 2),
        "solved": clock.solved,
        "rows": len(read_results(folder)),
    }


def measure_reading(rows: int, folder: Path) -> dict[str, object]:
    result = replace(result_of(units(1)[0]), code="x = 1\n" * 100)
    with ResultsWriter(folder) as writer:
        for number in range(rows):
            writer.append(replace(result, unit=f"{number:032x}"))
    began, worked = time.perf_counter(), time.process_time()
    found = read_results(folder)
    read, read_worked = time.perf_counter(), time.process_time()
    write_parquet(found, folder)
    size = sum(path.stat().st_size for path in (folder / "results").iterdir())
    return {
        "rows": len(found),
        "MB": round(size / 1e6, 1),
        "read, seconds": round(read - began, 2),
        "read, seconds of the processor": round(read_worked - worked, 2),
        "Parquet, seconds": round(time.perf_counter() - read, 2),
        "Parquet, seconds of the processor": round(time.process_time() - read_worked, 2),
    }


async def measure_limit(folder: Path) -> dict[str, object]:
    limit, began = LocalRateLimit(folder, Limits(requests_per_minute=1e9)), time.perf_counter()
    for _ in range(1000):
        await limit.reserve(10)
    return {"reservation, ms": round(time.perf_counter() - began, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(json.dumps(measure_reading(arguments.rows, folder / "rows")), flush=True)
        print(json.dumps(anyio.run(measure_limit, folder / "limit")), flush=True)
        for kind in ("local", "dask"):
            for workers in arguments.workers:
                place = folder / f"{kind}-{workers}"
                place.mkdir()
                found = anyio.run(measure, kind, workers, arguments.units, arguments.seconds, place)
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
