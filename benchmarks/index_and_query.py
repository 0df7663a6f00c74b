"""Index build, reopening and query by library size: `python benchmarks/index_and_query.py [LIBRARY ...]`.

Times depend on the machine; the ratios, within one run, do not. A library is opened again both with the target's
interpreter asked what it is, and with that remembered, by turns. "index" is the fit alone, "reopen" takes the index
from the cache, "query" is the median of a few dozen.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.knowledge_cache import pack_arrays, unpack_arrays
from exploracoder_jupyter.knowledge.search.api_index import ApiIndex
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs.knowledge_factory import environment_key

SIZES = (100, 1_000, 3_000, 10_000)
QUERIES = 40
REOPENED = 5


@dataclass(frozen=True)
class Row:
    size: int
    build: float
    reopen: float
    query: float
    megabytes: float


async def surface(names: Sequence[str], cache: Path) -> list[ApiDoc]:
    apis: list[ApiDoc] = []
    here = environment_key(Sandbox(), Path.cwd())
    for name in names:
        library, first = await opened(name, cache, here)
        again = [(await opened(name, cache, None), await opened(name, cache, here)) for _ in range(REOPENED)]
        asked, remembered = ([took for _, took in runs] for runs in zip(*again, strict=True))
        (row,) = library.report()
        print(f"{name} {row.version}: {row.apis} APIs, opened first in {first:.1f} s, then, in s,")
        print(f"  asked:      {format_seconds(asked)}")
        ratio = statistics.median(asked) / statistics.median(remembered)
        print(f"  remembered: {format_seconds(remembered)}, 1/{ratio:.1f} of that by medians")
        apis += library.apis
    return apis


async def opened(name: str, cache: Path, environment: str | None) -> tuple[TaskLibraries, float]:
    began = time.perf_counter()
    library = await TaskLibraries.open([name], inspect=local_inspector(Sandbox()), cache=cache, environment=environment)
    return library, time.perf_counter() - began


def format_seconds(seconds: Sequence[float]) -> str:
    return " ".join(f"{one:.2f}" for one in sorted(seconds))


async def measure(apis: Sequence[ApiDoc]) -> Row:
    began = time.perf_counter()
    body = pack_arrays(ApiIndex.build(apis).arrays())
    built = time.perf_counter()
    index = ApiIndex.reopen(apis, unpack_arrays(body))
    opened = time.perf_counter()
    times = []
    for api in apis[:: max(len(apis) // QUERIES, 1)]:
        asked = time.perf_counter()
        await index.search(f"how to {api.summary or api.name}", 20)
        times.append(time.perf_counter() - asked)
    return Row(len(apis), built - began, opened - built, statistics.median(times), len(body) / 1e6)


async def main(names: Sequence[str], cache: Path) -> None:
    apis = await surface(names, cache)
    ApiIndex.build(apis[:50])  # imports are paid once, here
    print(f"\n{'APIs':>7} {'index s':>9} {'reopen ms':>10} {'query ms':>9} {'MB':>6} {'index/reopen':>13}")
    for size in dict.fromkeys(min(size, len(apis)) for size in SIZES):
        step = len(apis) / size
        row = await measure([apis[int(at * step)] for at in range(size)])
        print(
            f"{row.size:>7} {row.build:>9.2f} {1000 * row.reopen:>10.1f} {1000 * row.query:>9.2f}"
            f" {row.megabytes:>6.1f} {row.build / row.reopen:>13.0f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=["networkx", "numpy", "pandas", "sklearn"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked.libraries, Path(folder))
