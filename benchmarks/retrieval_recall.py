"""Recall of retrieval and of its parts: `python benchmarks/retrieval_recall.py DATA.jsonl [LIBRARY ...]`.

Each line of DATA is `{"id", "library", "query", "gold": [[name, alternative, ...], ...]}`. A gold name counts as found
when one of the first k retrieved APIs has it as the last part of its path or of an alias of it (torchdata's functional
forms are aliases); recall@k is the mean over a library's queries. APIs of one name count as one, as if a list of names
were shown, but in the last row, which is the search as it is.

"Subtasks" are the plans in data/subtasks.json: each query split into one to three steps, which are searched together.
Libraries that are not installed are left out, and named; `--kernel` names a kernelspec to look for them in.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import numpy as np

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.search import indexed_text, vectors
from exploracoder_jupyter.knowledge.search.api_index import combine_queries
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.text.lexical_index import LexicalIndex

DEPTHS = (5, 10, 20)
ENOUGH = 200
PLANS = Path(__file__).parent / "data" / "subtasks.json"

FUNCTIONAL = re.compile(r"functional name: ``(\w+)``")
"""How torchdata names the method that is equivalent to a class."""

Found = list[frozenset[str]]
"""The names of each API, best first."""
Question = dict
Plans = dict[str, list[str]]
"""The subtasks of each query, by its id."""


def named(apis: Sequence[ApiDoc]) -> Found:
    return [frozenset((*indexed_text.api_names(api), *FUNCTIONAL.findall(api.description))) for api in apis]


def recall(found: Found, gold: Sequence[Sequence[str]]) -> float:
    names = frozenset().union(*found)
    return sum(any(name in names for name in alternatives) for alternatives in gold) / len(gold)


def whole(api: ApiDoc) -> str:
    return f"{api.path}{api.signature}\n{api.description}"


def by_words(apis: Sequence[ApiDoc], describe: Callable[[ApiDoc], str]) -> Callable[[Question], Found]:
    index = LexicalIndex.build([describe(api) for api in apis])
    return lambda question: ranked(apis, index.scores(question["query"]))


def by_vectors(
    apis: Sequence[ApiDoc],
    describe: Callable[[ApiDoc], str],
    vector: Callable[[str], np.ndarray],
    plans: Plans | None = None,
) -> Callable[[Question], Found]:
    rows = np.stack([vector(describe(api)) for api in apis])

    def find(question: Question) -> Found:
        queries = plans[question["id"]] if plans else [question["query"]]
        return ranked(apis, combine_queries([rows @ vector(query) for query in queries]))

    return find


def ranked(apis: Sequence[ApiDoc], scores: np.ndarray) -> Found:
    return named([apis[row] for row in np.argsort(-scores, kind="stable")[:ENOUGH] if scores[row] > 0])


def parts(apis: Sequence[ApiDoc], plans: Plans) -> dict[str, Callable[[Question], Found]]:
    """What is to be compared with: one index, one kind of text, no prior."""
    return {
        "BM25, path and first sentence": by_words(apis, indexed_text.embedding_text),
        "BM25, whole docstring": by_words(apis, whole),
        "word vectors, description": by_vectors(apis, lambda api: api.description, vectors.embed_text),
        "word vectors, path and first sentence": by_vectors(apis, indexed_text.embedding_text, vectors.embed_text),
        "the same, its subtasks": by_vectors(apis, indexed_text.embedding_text, vectors.embed_text, plans),
    }


async def measure(library: TaskLibraries, questions: Sequence[Question], plans: Plans) -> dict[str, list[float]]:
    ways: dict[str, list[Found]] = {}
    for way, find in parts(library.apis, plans).items():
        ways[way] = [find(question) for question in questions]
    alone, split = [], []
    for question in questions:
        alone.append(named([one.api for one in await library.search(question["query"], ENOUGH)]))
        found = await library.search_together(plans[question["id"]], ENOUGH)
        split.append(named([one.api for one in found]))
    distinct = ways | {"default, the query": alone, "default, its subtasks": split}
    rows = {way: [list(dict.fromkeys(one)) for one in found] for way, found in distinct.items()}
    rows["default, its subtasks, as it is"] = split
    return {way: figures(found, questions) for way, found in rows.items()}


def figures(found: Sequence[Found], questions: Sequence[Question]) -> list[float]:
    pairs = list(zip(found, questions, strict=True))
    return [100 * sum(recall(one[:depth], asked["gold"]) for one, asked in pairs) / len(pairs) for depth in DEPTHS]


async def main(data: Path, wanted: Sequence[str], kernel: str | None, cache: Path) -> None:
    by_library = defaultdict(list)
    for line in data.read_text().splitlines():
        question = json.loads(line)
        by_library[question["library"]].append(question)
    plans = json.loads(PLANS.read_text())["plans"]
    print(f"{'recall (percent)':<42}{'  '.join(f'@{depth:<4}' for depth in DEPTHS)}")
    for name, questions in by_library.items():
        if wanted and name not in wanted:
            continue
        try:
            library = await TaskLibraries.open([name], inspect=local_inspector(Sandbox(kernel=kernel)), cache=cache)
        except UsageError as error:
            print(f"{name}: left out. {error}")
            continue
        about = library.libraries[0]
        print(f"{name} {about.version}: {library.size} APIs, {len(questions)} queries")
        for way, shares in (await measure(library, questions, plans)).items():
            print(f"  {way:<40}{'  '.join(f'{share:5.1f}' for share in shares)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--kernel", help="kernelspec in which the libraries are installed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked.data, asked.libraries, asked.kernel, Path(folder))
