"""How fast an agent gets the results of eight variants: `python -m benchmarks.agent_variants`, from the repository's
folder.

The SDK's own client at `jupyter explora mcp`, over standard streams; a user's kernel with 100 MB of state.

1. *In forks*: one call of `try_variants` with eight variants, from the call to its answer. The first call of a server
   also imports what it needs; the later ones are the measure.
2. *In fresh kernels*: the same eight, each in a stock kernel of its own that first makes the state, all started at
   once, from the start of the first to the last result: what an agent with a plain tool that executes code would do.
3. *Continuing*: one variant after the state of another.

The ratio is of one run of this program. It also says whether the user's state is the same by hash afterwards.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from tests.integration.agent_tools.mcp_client import agent, users_kernel

STATE = """
import numpy as np
given_values = np.random.default_rng(0).random(13_107_200)
given_hash = lambda: __import__("hashlib").sha256(given_values).hexdigest()
"""
VARIANTS = [
    "float(given_values.mean())",
    "float(np.median(given_values[:100_000]))",
    "np.histogram(given_values, bins=10)[0]",
    "given_values[:] = 0; float(given_values.sum())",
    "float(given_values.max() - given_values.min())",
    "given_values[10**9]",
    "np.quantile(given_values[:100_000], [0.1, 0.9])",
    "given_values.reshape(-1, 1024).shape",
]


class _Spec(KernelSpecManager):
    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="fresh", language="python")


@asynccontextmanager
async def _fresh(folder: Path) -> AsyncIterator[AsyncKernelClient]:
    manager = AsyncKernelManager(kernel_name="fresh", kernel_spec_manager=_Spec())
    await manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=300)
        yield client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def _in_fresh_kernels(folder: Path) -> float:
    done: list[float] = []

    async def one(code: str) -> None:
        async with _fresh(folder) as client:
            for cell in (STATE, code):
                await client.execute_interactive(cell, timeout=300, output_hook=lambda message: None)
            done.append(time.monotonic())

    start = time.monotonic()
    async with anyio.create_task_group() as tasks:
        for code in VARIANTS:
            tasks.start_soon(one, code)
    return max(done) - start


async def _measure(rounds: int) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp(prefix="agents"))
    forks, fresh, after = [], [], []
    async with users_kernel(folder, STATE) as kernel, agent(folder) as client:
        before = (await kernel.run("print(given_hash())", silent=True)).printed
        for _ in range(rounds + 1):
            start = time.monotonic()
            results = await client.try_code("users", *VARIANTS)
            forks.append(time.monotonic() - start)
            start = time.monotonic()
            variant = {"label": "next", "code": "given_values.shape", "after": results[0]["state"]}
            await client.call("try_variants", kernel="users", variants=[variant])
            after.append(time.monotonic() - start)
        same = (await kernel.run("print(given_hash())", silent=True)).printed == before
        fresh = [await _in_fresh_kernels(folder) for _ in range(rounds)]
    first, *later = forks
    return {
        "results": [one["result"] for one in results],
        "forks_first_call": round(first, 2),
        "forks": [round(one, 2) for one in later],
        "fresh_kernels": [round(one, 2) for one in fresh],
        "after": [round(one, 2) for one in after[1:]],
        "ratio_of_medians": round(statistics.median(fresh) / statistics.median(later), 1),
        "state_unchanged": same,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    print(json.dumps(anyio.run(_measure, parser.parse_args().rounds), indent=2))


if __name__ == "__main__":
    main()
