"""A discrete simulation of an evaluation on many workers: how long it takes, what limits it, what deaths cost.

    python benchmarks/evaluation_scale.py [--units 1000000] [--workers 1000] [--requests 6] [--latency 10] [--rpm N]
        [--tpm N] [--tokens 2000] [--executions 8] [--overhead 0.005] [--serial 0.003] [--mtbf 36000] [--seed 1]

The queue of units (`UnitQueue`) and the rate limit (`RequestTimes`) are those of the package; only time, workers and
the model are simulated. All times are in seconds. `--overhead` is what a worker needs for a unit besides its work, and
`--serial` what the client and the scheduler need for a unit, one after the other: see `evaluation_workers.py`.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import Limits, RequestTimes, UnitQueue

_RESULT = UnitResult("", "p", "s", "explore", "m", 0, "unchecked", True, True, 1, 1)


class SimulatedUnit(NamedTuple):
    digest: str


@dataclass(slots=True)
class Worker:
    dies: float
    unit: SimulatedUnit | None = None
    requests: int = 0
    """Requests that the unit still makes."""
    began: float = 0.0


@dataclass(slots=True)
class Simulation:
    options: argparse.Namespace
    random: random.Random
    queue: UnitQueue[SimulatedUnit]
    times: RequestTimes = field(default_factory=RequestTimes)
    events: list[tuple[float, int]] = field(default_factory=list)
    """When each busy worker has its next event."""
    counts: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    """Seconds of waiting for the rate limit, of all workers."""
    lost: float = 0.0
    """Seconds of work that died with its worker."""
    client_free: float = 0.0
    """When the client and the scheduler are free again."""
    idle: list[int] = field(default_factory=list)
    now: float = 0.0

    def run(self) -> None:
        workers = [Worker(self._lifetime()) for _ in range(self.options.workers)]
        for number, worker in enumerate(workers):
            self._take(number, worker, 0.0)
        while self.events:
            self.now, number = heapq.heappop(self.events)
            self._step(number, workers[number])
            while self.idle and self.queue.left > self.queue.active:  # a lost unit waits again
                free = self.idle.pop()
                self._take(free, workers[free], self.now)

    def _step(self, number: int, worker: Worker) -> None:
        if worker.unit is None:
            self._take(number, worker, self.now)
        elif worker.dies <= self.now:
            self._die(number, worker)
        elif worker.requests:
            worker.requests -= 1
            self._request(number)
        else:
            self._finish(number, worker)

    def _take(self, number: int, worker: Worker, now: float) -> None:
        worker.unit = self.queue.take()
        if worker.unit is None:
            self.idle.append(number)
            return
        worker.began = now
        worker.requests = 1 + self._poisson(self.options.requests - 1)
        heapq.heappush(self.events, (now + self.options.overhead, number))

    def _request(self, number: int) -> None:
        limits = Limits(self.options.rpm, self.options.tpm)
        start = self.now
        if limits.are_timed:
            start, self.times = self.times.reserve(self.now, self.options.tokens, limits)
        self.waited += start - self.now
        self.counts["requests"] += 1
        work = self.options.executions / self.options.requests * self.random.expovariate(1.0)
        heapq.heappush(
            self.events, (start + self.options.latency * self.random.lognormvariate(-0.125, 0.5) + work, number)
        )

    def _finish(self, number: int, worker: Worker) -> None:
        assert worker.unit
        self.client_free = max(self.client_free, self.now) + self.options.serial
        self.queue.finish(replace(_RESULT, unit=worker.unit.digest))
        self.counts["finished"] += 1
        self._take(number, worker, self.client_free)

    def _die(self, number: int, worker: Worker) -> None:
        assert worker.unit
        self.counts["deaths"] += 1
        self.counts["faults"] += not self.queue.lose(worker.unit.digest)
        self.lost += worker.dies - worker.began
        worker.unit, worker.dies = None, self.now + self.options.restart + self._lifetime()
        heapq.heappush(self.events, (self.now + self.options.restart, number))

    def _lifetime(self) -> float:
        return self.random.expovariate(1 / self.options.mtbf) if self.options.mtbf else float("inf")

    def _poisson(self, mean: float) -> int:
        """Return a random number with this mean, at least 0."""
        count, left = 0, mean
        while (left := left - self.random.expovariate(1.0)) > 0:
            count += 1
        return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--requests", type=float, default=6, help="mean number of requests of a unit")
    parser.add_argument("--latency", type=float, default=10, help="mean seconds of a request")
    parser.add_argument("--executions", type=float, default=8, help="mean seconds that a unit spends in kernels")
    parser.add_argument("--tokens", type=int, default=2000, help="tokens of a request")
    parser.add_argument("--rpm", type=float)
    parser.add_argument("--tpm", type=float)
    parser.add_argument("--overhead", type=float, default=0.005)
    parser.add_argument("--serial", type=float, default=0.003)
    parser.add_argument(
        "--mtbf", type=float, default=36_000, help="mean seconds between the deaths of a worker; 0: never"
    )
    parser.add_argument("--restart", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    queue = UnitQueue(SimulatedUnit(f"{number:x}") for number in range(options.units))
    simulation = Simulation(options, random.Random(options.seed), queue)
    simulation.run()
    busy = options.workers * simulation.now
    found = {
        **{name: value for name, value in vars(options).items() if value is not None},
        **simulation.counts,
        "hours": round(simulation.now / 3600, 2),
        "units a second": round(options.units / simulation.now, 1),
        "share waiting for the rate limit": round(simulation.waited / busy, 4),
        "share lost by deaths": round(simulation.lost / busy, 4),
        "share of the client busy": round(options.units * options.serial / simulation.now, 4),
        "million tokens": round(simulation.counts["requests"] * options.tokens / 1e6),
        "seconds of the simulation": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
