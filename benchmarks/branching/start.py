"""How fast a branch is there, against other ways to the same state: `python benchmarks/branching/start.py`.

A user's kernel holds the prefix and N megabytes of arrays; the root is forked from it, live. All figures come from one
run, rounds interleaved, so that their ratios hold whatever else the machine does.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import anyio
from others import PREFIX, TRIVIAL, Dill, arrays, fresh_kernel, nbclient
from table import machine, row
from user_kernel import UserKernel, now_ms, private_mb

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import Siblings, open_siblings
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkBranch

AHEAD_SECONDS = 0.6
CANDIDATES, SUBTASKS = 5, 8
SANDBOX = Sandbox(state="live", branching="fork", isolation="require")
_TICK = """
import time
_ticks, _until = [], time.perf_counter() + 4
while len(get_ipython().explora_forks) < {number} and time.perf_counter() < _until:
    _ticks.append(time.perf_counter()); time.sleep(0.001)
_until = time.perf_counter() + 0.2
while time.perf_counter() < _until:
    _ticks.append(time.perf_counter()); time.sleep(0.001)
def _largest(begun, ended):
    return max(b - a for a, b in zip(_ticks, _ticks[1:]) if b >= begun and a <= ended) * 1000
_begun, _ended = get_ipython().explora_forks[{number} - 1]
"""


async def first_reply(base: ForkBranch) -> tuple[float, float]:
    """Milliseconds from the request for a branch to the reply of its first cell, and its private megabytes then."""
    begun = now_ms()
    (branch,) = await base.fork(1)
    observation = await branch.run(TRIVIAL, timeout=30)
    taken = now_ms() - begun
    assert observation.status == "ok", observation
    assert branch.process is not None
    memory = private_mb(branch.process.pid)
    await branch.close()
    return taken, memory


async def compare(siblings: Siblings, megabytes: int, rounds: int, folder: Path) -> None:
    """Measure and print the table of one size of state."""
    base = await siblings.root()
    assert isinstance(base, ForkBranch)
    found: dict[str, list[float]] = {
        name: [] for name in ("plain", "ahead", "fresh", "nbclient", "dump", "load", "private", "warm")
    }
    dill = Dill(folder, megabytes)
    (warm,) = await base.fork(1)
    await warm.run(TRIVIAL, timeout=30)
    for _ in range(rounds):
        taken, memory = await first_reply(base)
        found["plain"].append(taken)
        found["private"].append(memory)
        base.expect(1)
        await anyio.sleep(AHEAD_SECONDS)
        found["ahead"].append((await first_reply(base))[0])
        begun = now_ms()
        await warm.run(TRIVIAL, timeout=30)
        found["warm"].append(now_ms() - begun)
        found["fresh"].append(await fresh_kernel())
        found["nbclient"].append(await nbclient())
        dumped, loaded = dill.once()
        found["dump"].append(dumped)
        found["load"].append(loaded)
    await warm.close()
    report(found)


def report(found: dict[str, list[float]]) -> None:
    """Medians, and ratios of medians."""
    plain = row("branch: request to first reply, confined, not ahead", found["plain"])
    ahead = row("branch: the same, forked ahead", found["ahead"])
    row("a further cell of a branch (the limit)", found["warm"])
    fresh = row("(a) fresh kernel, imports and prefix", found["fresh"])
    again = row("(b) nbclient, imports and prefix", found["nbclient"])
    both = [dump + load for dump, load in zip(found["dump"], found["load"], strict=True)]
    pickled = row("(c) dill: dump and load of the namespace", both)
    load = row("    of it the load alone", found["load"])
    row("private memory of a branch after its first cell", found["private"], unit="MB")
    for what, other in (("(a)", fresh), ("(b)", again), ("(c)", pickled), ("(c), load alone", load)):
        row(f"not ahead: times faster than {what}", [other / plain], unit="x")
        row(f"ahead: times faster than {what}", [other / ahead], unit="x")


async def blocked(kernel: UserKernel, folder: Path, rounds: int) -> None:
    """How long a fork holds up a cell that runs at the time, seen from within."""
    during, quiet, fork = [], [], []
    for _ in range(rounds):
        number = await kernel.value("len(get_ipython().explora_forks)") + 1
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kernel.run, _TICK.format(number=number))
            await anyio.sleep(0.1)
            async with open_siblings(SANDBOX, workdir=folder, live=kernel.live):
                pass
        during.append(await kernel.value("_largest(_begun, _ended + 0.05)"))
        quiet.append(await kernel.value("_largest(_begun - 0.1, _begun - 0.01)"))
        fork.append(await kernel.value("(_ended - _begun) * 1000"))
    row("a cell that ticks every ms: largest gap around the fork", during)
    row("    largest gap in the 90 ms before it", quiet)
    row("    the call that forks", fork)


async def chain(siblings: Siblings) -> float:
    """Seconds of a whole chain of candidates that do nothing."""
    root = await siblings.root()
    assert isinstance(root, ForkBranch)
    root.expect(CANDIDATES)
    base, begun = root, now_ms()
    for _ in range(SUBTASKS):
        made: list[ForkBranch] = []

        async def candidate(base: ForkBranch, made: list[ForkBranch]) -> None:
            (branch,) = await base.fork(1)
            observation = await branch.run(TRIVIAL, timeout=30)
            assert observation.status == "ok", observation
            made.append(branch)

        async with anyio.create_task_group() as tasks:
            for _ in range(CANDIDATES):
                tasks.start_soon(candidate, base, made)
        for branch in (*made[1:], *([] if base is root else [base])):
            await branch.close()
        base = made[0]
        base.expect(CANDIDATES)
    taken = (now_ms() - begun) / 1000
    await base.close()
    return taken


async def measure(megabytes: int, rounds: int, folder: Path, memory: Path) -> None:
    """All of one size."""
    async with UserKernel(folder / "work") as kernel:
        await kernel.run(PREFIX)
        await kernel.run(arrays(megabytes))
        print(f"\n{megabytes} MB of live state; {machine()}")
        begun = now_ms()
        async with open_siblings(SANDBOX, workdir=folder / "work", live=kernel.live) as siblings:
            print(f"{siblings.environment().isolation}; the root was there after {now_ms() - begun:.0f} ms")
            await compare(siblings, megabytes, rounds, memory)
            row(
                f"{CANDIDATES} candidates x {SUBTASKS} subtasks of `pass`",
                [await chain(siblings) for _ in range(5)],
                unit="s",
            )
        await blocked(kernel, folder / "work", rounds)
        print(f"load at the end: {machine()}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    for megabytes in arguments.mb:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            await measure(megabytes, arguments.rounds, Path(folder), Path(memory))


if __name__ == "__main__":
    anyio.run(main)
