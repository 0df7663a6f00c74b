"""What candidates add to a live kernel with a table of 2 GB that has text in it: `python benchmarks/branching/big.py`.

Each candidate is a branch of the live state that filters, groups or describes the table. Printed: the memory that the
branch has for itself, without the size of the result that the cell keeps, at its end and at its height, what the same
cell takes at its height in the kernel itself, and whether the user's table is bit for bit what it was. `--text
objects` holds the text as Python objects, as pandas did before 3.0: then reading a text writes its reference count,
and its page is copied.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from table import machine, row
from user_kernel import UserKernel, now_ms, private_mb

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkBranch

SANDBOX = Sandbox(state="live", branching="fork", isolation="require")
AIM_MB = 300
_MAKE = """
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.compute as pc
def _table(rows):
    random = np.random.default_rng(7)
    cities = pa.array([f"city-{{n:04d}}" for n in range(1000)], pa.large_string())
    number = np.arange(rows)
    text = pc.cast(pa.array(number), pa.large_string())
    word = lambda text: pa.scalar(text, pa.large_string())
    columns = {{
        "number": number,
        "value": random.normal(size=rows),
        "city": cities.take(pa.array(random.integers(0, 1000, rows))),
        "name": pc.binary_join_element_wise(word("customer"), text, word(" ")),
        "note": pc.binary_join_element_wise(word("a note that was written on"), text, word(" ")),
    }}
    made = pa.table(columns).to_pandas()
    return made.astype({{name: object for name in ("city", "name", "note")}}) if {objects} else made
df = _table({rows})
"""
_DIGEST = """
def _digest(frame):
    import hashlib
    digest = hashlib.blake2b()
    for name in frame.columns:
        array = frame[name].array
        if hasattr(array, "_pa_array"):
            buffers = [part for chunk in array._pa_array.chunks for part in chunk.buffers() if part is not None]
        elif frame[name].dtype == object:
            buffers = ["\\0".join(frame[name].iloc[at:at + 100_000]).encode() for at in range(0, len(frame), 100_000)]
        else:
            buffers = [np.ascontiguousarray(frame[name].to_numpy())]
        for buffer in buffers:
            digest.update(buffer)
    return digest.hexdigest()
"""
CANDIDATES = {
    "nothing": "result = None",
    "filter by a number": "result = df[df['value'] > 3.5]",
    "filter by a text": "result = df[df['city'] == 'city-0007']",
    "filter by a part of a text": "result = df[df['name'].str.endswith('77777')]",
    "group, mean": "result = df.groupby('city')['value'].mean()",
    "group, several": "result = df.groupby('city').agg(value=('value', 'std'), number=('number', 'max'))",
    "describe": "result = df.describe()",
    "describe a text": "result = df['city'].describe()",
    "head, info, value counts": "df.info(); df.head(); result = df['city'].value_counts()",
}
_SIZE = (
    "print(0 if result is None else "
    "int(sum(result.memory_usage(deep=True)) if hasattr(result, 'columns') else result.memory_usage(deep=True)))"
)


async def highest(pid: int, work: Callable[[], Awaitable[Any]]) -> tuple[Any, float]:
    """What the work gives, and the most private megabytes that the process had meanwhile."""
    height = private_mb(pid)

    async def watch() -> None:
        nonlocal height
        while True:
            height = max(height, private_mb(pid))
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        result = await work()
        tasks.cancel_scope.cancel()
    return result, height


async def try_out(base: ForkBranch, name: str, code: str) -> float:
    """Run one candidate and print what it adds; the megabytes at its end."""
    (branch,) = await base.fork(1)
    await branch.run("pass", timeout=30)
    assert branch.process is not None
    pid, begun = branch.process.pid, now_ms()
    observation, height = await highest(pid, lambda: branch.run(code, timeout=300))
    taken, after = now_ms() - begun, private_mb(pid)
    assert observation.status == "ok", observation
    size = int((await branch.run(_SIZE, timeout=300)).text) / 1e6
    row(f"{name}: {taken / 1000:.1f} s; added beyond its result", [after - size], unit="MB")
    row("    its result", [size], unit="MB")
    row("    at its height, result and working memory included", [height], unit="MB")
    await branch.close()
    return after - size


async def compare(kernel: UserKernel, name: str, code: str) -> None:
    """What the same cell takes at its height in the user's kernel, where nothing is shared."""
    before = private_mb(kernel.pid)
    _, height = await highest(kernel.pid, lambda: kernel.run(code))
    await kernel.run("del result")
    row(f"in the kernel itself, at its height: {name}", [height - before], unit="MB")


async def measure(folder: Path, *, rows: int, objects: bool) -> None:
    """Everything."""
    async with UserKernel(folder / "work", timeout=600) as kernel:
        await kernel.run(_MAKE.format(rows=rows, objects=objects))
        await kernel.run(_DIGEST)
        size = await kernel.value("int(df.memory_usage(deep=True).sum())")
        print(f"{rows} rows, {size / 1e9:.2f} GB, {await kernel.value('str(dict(df.dtypes.astype(str)))')}")
        print(machine())
        before = await kernel.value("_digest(df)")
        async with open_siblings(SANDBOX, workdir=folder / "work", live=kernel.live) as siblings:
            base = await siblings.root()
            assert isinstance(base, ForkBranch)
            added = {name: await try_out(base, name, code) for name, code in CANDIDATES.items()}
        same = await kernel.value("_digest(df)") == before
        for name, code in CANDIDATES.items():
            await compare(kernel, name, code)
        most = max(added, key=added.__getitem__)
        verdict = "met" if added[most] < AIM_MB else "MISSED"
        print(f"most: {added[most]:.0f} MB ({most}); aim: under {AIM_MB} MB: {verdict}")
        print(f"the table in the user's kernel is {'bit for bit the same' if same else 'CHANGED'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_500_000)
    parser.add_argument("--text", choices=("default", "objects"), default="default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(lambda: measure(Path(folder), rows=arguments.rows, objects=arguments.text == "objects"))


if __name__ == "__main__":
    main()
