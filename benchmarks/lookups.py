"""How long a model waits for what it looks up: `python benchmarks/lookups.py [LIBRARY ...]`.

Each tool is asked for the same random APIs of each library, `search_api` by the first sentence of their documentation.
Nothing comes from memory. Times are in milliseconds and hold all but the model; ToolCoder's limit is 600. "late" is the
share of answers that were given up by then, so that names alone answered; "found" that of answers that hold what was
asked for, and "length" the median in characters.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import anyio

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration, Sandbox
from exploracoder_jupyter.core.events import Event
from exploracoder_jupyter.core.types import ApiDoc, Call, Task, Usage
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import Meter, Run
from exploracoder_jupyter.pipeline.ports import Branch, Reply, Steering
from exploracoder_jupyter.pipeline.retrieval.lookups import TOOLS, ApiLookups

ASKED = 60
NOTHING = ("It takes too long", "The source of", "There is no", "Nothing is found")
"""How answers begin that give something else in place of what was asked for."""


def _ignore(event: Event) -> None:
    pass


async def answer_time(run: Run, tool: str, api: ApiDoc) -> tuple[float, str]:
    argument = api.summary or api.name if tool == TOOLS[0].name else api.path
    desk = ApiLookups(run, "1", 1)
    began = time.perf_counter()
    _, answer = await desk.answered(Reply(0, "", Usage()), [Call(tool, argument)])
    return 1000 * (time.perf_counter() - began), answer.content


async def measure(library: TaskLibraries, name: str) -> None:
    nobody = cast(Steering, None)
    model, meter = ScriptedModel([]), Meter(Budget())
    run = Run(Task("", (name,)), Exploration(), model, library, cast(Branch, None), _ignore, nobody, meter)
    asked = random.Random(7).sample(list(library.apis), min(ASKED, library.size))
    await answer_time(run, TOOLS[0].name, asked[0])  # imports are paid once, here
    for tool in TOOLS:
        answers = [await answer_time(run, tool.name, api) for api in asked]
        times = [took for took, _ in answers]
        late = sum(text.startswith("It takes too long") for _, text in answers) / len(answers)
        found = sum(not text.startswith(NOTHING) for _, text in answers) / len(answers)
        length = statistics.median(len(text) for _, text in answers)
        print(
            f"{name:>10} {tool.name:>14} {statistics.median(times):>8.1f} {statistics.quantiles(times, n=20)[-1]:>8.1f}"
            f" {max(times):>8.1f} {late:>6.0%} {found:>6.0%} {length:>7.0f}"
        )


async def main(names: Sequence[str], cache: Path) -> None:
    print(f"{'library':>10} {'tool':>14} {'median':>8} {'95 %':>8} {'most':>8} {'late':>6} {'found':>6} {'length':>7}")
    async with open_siblings(Sandbox(), workdir=cache) as siblings:
        for name in names:
            await measure(await TaskLibraries.open([name], inspect=siblings.inspect, cache=cache), name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=["pandas", "networkx"])
    asked_for = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked_for.libraries, Path(folder))
