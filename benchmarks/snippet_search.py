"""Finding kept snippets again: `python benchmarks/snippet_search.py DATA.jsonl PLANS.json [LIBRARY ...]`.

Each line of DATA is `{"id", "library", "query", "gold": [[name, ...], ...]}`, PLANS has for ids `{"plans": {id:
[subtask, ...]}}`: the same task in other words. Each query is kept as a snippet that calls its gold names, then
searched by the plan. The report shows how often the snippet is the first, among the first three and five, the mean of
1 / rank, how many were found, and the milliseconds of a search.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries

ALL = 200


def kept(question: dict, library: TaskLibraries) -> Snippet:
    """The task as a snippet: its words, and calls of its gold names."""
    names = [alternatives[0] for alternatives in question["gold"]]
    paths = [next((api.path for api in library.apis if api.name == name), name) for name in names]
    code = "\n".join([f"# {question['id']}", *(f"{question['id'].replace('-', '_')} = x.{name}()" for name in names)])
    info = library.libraries[0]
    return Snippet(info.name, info.version, question["query"][:300], code, tuple(paths), "", "")


async def ranks(source: SnippetSource, plans: Mapping[str, str]) -> tuple[list[int], list[int], list[float]]:
    """For each plan the rank of its snippet (0: not found), how many were found, and the seconds."""
    places, found, seconds = [], [], []
    for id_, query in plans.items():
        began = time.perf_counter()
        hits = await source.search(query, ALL)
        seconds.append(time.perf_counter() - began)
        texts = [hit.passage.text.startswith(f"# {id_}\n") for hit in hits]
        places.append(texts.index(True) + 1 if any(texts) else 0)
        found.append(len(texts))
    return places, found, seconds


async def main(data: Path, plans: Path, wanted: Sequence[str], folder: Path) -> None:
    plan_texts = {id_: " ".join(steps) for id_, steps in json.loads(plans.read_text())["plans"].items()}
    questions = [json.loads(line) for line in data.read_text().splitlines()]
    print("                       first  in 3  in 5   1/rank  found     ms")
    for name in wanted:
        library = await TaskLibraries.open([name], inspect=local_inspector(Sandbox()), cache=folder)
        mine = [one for one in questions if one["library"] == name and one["id"] in plan_texts]
        info = library.libraries[0]
        source = SnippetSource(SnippetStore(folder / f"{name}.sqlite"), {info.name: info.version})
        await source.learn([kept(one, library) for one in mine])
        places, found, seconds = await ranks(source, {one["id"]: plan_texts[one["id"]] for one in mine})
        within = [100 * sum(0 < place <= most for place in places) / len(places) for most in (1, 3, 5)]
        mean = statistics.fmean(1 / place if place else 0 for place in places)
        print(f"{name:22}{within[0]:4.0f}% {within[1]:4.0f}% {within[2]:4.0f}%{mean:9.3f}", end="")
        print(f"{statistics.median(found):7.0f}{1000 * statistics.median(seconds):7.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("plans", type=Path)
    parser.add_argument("libraries", nargs="*", default=["pandas", "numpy"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked.data, asked.plans, asked.libraries, Path(folder))
