"""Precision of the search: `python benchmarks/search_questions.py --python PATH [LIBRARY ...]`.

150 questions about thirty libraries, in the words of a user, with the APIs that answer each
(data/search_questions.json). They were written before their authors read the ranking. Ten libraries are for
development, ten are held out. The questions about the last ten have another author and avoid the words of the
documentation; the built-in word vectors were not trained on these libraries.

A question counts as answered in the first k when one of its APIs, or an alias of it, is among the first k results; an
answer such as `Select.where` stands for every path that ends so.

PATH is an interpreter in whose environment the libraries are installed; those that are not are left out, and named.
`--cache` keeps what was read. `--misses` shows the first results of the questions without an answer in the first three.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries

QUESTIONS = Path(__file__).parent / "data" / "search_questions.json"
DEPTHS = (1, 3, 10)
NOT_FOUND = 10_000

Question = tuple[str, list[str]]


def answers(api: ApiDoc, right: Sequence[str]) -> bool:
    return any(f".{path}".endswith(f".{end}") for path in (api.path, *api.aliases) for end in right)


def rank(found: Sequence[ApiDoc], right: Sequence[str]) -> int:
    """Of the first right answer, from 1."""
    return next((place for place, api in enumerate(found, 1) if answers(api, right)), NOT_FOUND)


def shares(ranks: Sequence[int]) -> str:
    return "  ".join(f"{100 * sum(rank <= depth for rank in ranks) / len(ranks):5.1f}" for depth in DEPTHS)


async def measure(library: TaskLibraries, questions: Sequence[Question], misses: bool) -> list[int]:
    ranks = []
    for query, right in questions:
        found = [one.api for one in await library.search(query, max(DEPTHS))]
        ranks.append(rank(found, right))
        if misses and ranks[-1] > 3:
            known = any(answers(api, right) for api in library.apis)
            print(f"    {query}: {ranks[-1] if ranks[-1] < NOT_FOUND else '-' if known else 'not in the index'}")
            print("".join(f"        {api.path}\n" for api in found), end="")
    return ranks


async def main(asked: argparse.Namespace, cache: Path) -> None:
    inspect = local_inspector(Sandbox(python=asked.python))
    for part, libraries in json.loads(QUESTIONS.read_text()).items():
        ranks: list[int] = []
        print(f"{part:<40}" + "  ".join(f"{f'@{depth}':>5}" for depth in DEPTHS))
        for name, questions in libraries.items():
            if asked.libraries and name not in asked.libraries:
                continue
            try:
                library = await TaskLibraries.open([name], inspect=inspect, cache=cache)
            except UsageError as error:
                print(f"  {name}: left out. {error}")
                continue
            own = await measure(library, questions, asked.misses)
            about = f"{name} {library.libraries[0].version} ({library.size:,} APIs)"
            print(f"  {about:<38}{shares(own)}", flush=True)
            ranks += own
        if ranks:
            print(f"  {f'all {len(ranks)} questions':<38}{shares(ranks)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--python", help="interpreter of the environment in which the libraries are installed")
    parser.add_argument("--cache", type=Path, help="folder that keeps what was read")
    parser.add_argument("--misses", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, arguments, arguments.cache or Path(folder))
