"""The same with Kishu, checkpoints within one kernel: `python benchmarks/branching/kishu_checkout.py PYTHON`.

PYTHON is an interpreter with kishu 0.3, numpy, pandas and matplotlib. The time is from the request to go back to the
state of the prefix and the arrays, until a cell has replied, after a candidate that changed nothing, one array, or all
of them; and what the checkpoint after each cell costs. Unlike branches, candidates run one after another, in the
kernel itself. A fork of the same state is timed in the same rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import anyio
import nbformat
from others import ARRAY_MB, PREFIX, TRIVIAL
from start import SANDBOX, first_reply
from table import machine, row
from user_kernel import UserKernel, now_ms

from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkBranch

_BEGIN = """
import os
os.environ.update(ENV_KISHU_TEST_MODE="1", TEST_NOTEBOOK_PATH="state.ipynb")
import kishu
kishu.init_kishu("state.ipynb")
"""
_ARRAY = "import numpy\narray_{n} = numpy.random.default_rng({n}).random({rows})"
_HEAD = "_kishu._kishu_graph.head()"


async def timed(kernel: UserKernel, code: str) -> float:
    """Milliseconds of a cell."""
    begun = now_ms()
    await kernel.run(code)
    return now_ms() - begun


async def measure(python: str, megabytes: int, rounds: int, folder: Path) -> None:
    """Print the table."""
    many, rows = megabytes // ARRAY_MB, ARRAY_MB * 1_000_000 // 8
    make = [_ARRAY.format(n=n, rows=rows) for n in range(many)]
    changes = {
        "nothing": TRIVIAL,
        "one array": "array_0 += 1",
        "all arrays": "\n".join(f"array_{n} += 1" for n in range(many)),
    }
    print(f"\n{megabytes} MB of live state in arrays of {ARRAY_MB} MB; {machine()}")
    async with UserKernel(folder / "plain") as plain, UserKernel(folder / "work", python=python) as kernel:
        nbformat.write(nbformat.v4.new_notebook(), folder / "work" / "state.ipynb")
        for code in (PREFIX, *make):
            await plain.run(code)
        await kernel.run(_BEGIN)
        await kernel.run(PREFIX)
        row("a cell that makes one array, and its checkpoint", [await timed(kernel, code) for code in make])
        commit = await kernel.value(_HEAD)
        async with open_siblings(SANDBOX, workdir=folder / "plain", live=plain.live) as siblings:
            base = await siblings.root()
            assert isinstance(base, ForkBranch)
            for what, code in changes.items():
                branch, cell, back = [], [], []
                for _ in range(rounds):
                    branch.append((await first_reply(base))[0])
                    cell.append(await timed(kernel, code))
                    begun = now_ms()
                    await kernel.value(f"str(_kishu.checkout({commit!r}, skip_notebook=True))")
                    await kernel.run(TRIVIAL)
                    back.append(now_ms() - begun)
                    assert await kernel.value("float(array_0[0]) == float(numpy.random.default_rng(0).random(1)[0])")
                row(f"a candidate that changes {what}, and its checkpoint", cell)
                median = row("    back to the state, and the reply of a cell", back)
                row("    a branch is so many times faster", [median / statistics.median(branch)], unit="x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--mb", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    for megabytes in arguments.mb:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            anyio.run(lambda mb, path: measure(arguments.python, mb, arguments.rounds, path), megabytes, path)


if __name__ == "__main__":
    main()
