"""Recall of the built-in retrieval: `python benchmarks/retrieval_recall.py DATA.jsonl [LIBRARY ...]`.

Each line of DATA is `{"library", "query", "gold": [[name, alternative, ...], ...]}`. A gold name counts as found when
one of the first k retrieved APIs has it as the last part of its path; recall@k is the mean over a library's queries.
"distinct" counts APIs of one name as one, as if a list of names were shown; the other row is the search as it is.
Libraries that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import anyio

from exploracoder_jupyter.config import Sandbox
from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.execution.inspect import inspector
from exploracoder_jupyter.knowledge import Library

DEPTHS = (5, 10, 20)
ENOUGH = 200


def recall(names: Sequence[str], gold: Sequence[Sequence[str]]) -> float:
    return sum(any(name in names for name in alternatives) for alternatives in gold) / len(gold)


async def measure(library: Library, questions: Sequence[dict]) -> dict[str, list[float]]:
    totals = {"as it is": [0.0] * len(DEPTHS), "distinct": [0.0] * len(DEPTHS)}
    for question in questions:
        plain = [found.api.name for found in await library.search(question["query"], ENOUGH)]
        rows = {"as it is": plain, "distinct": list(dict.fromkeys(plain))}
        for way, names in rows.items():
            for at, depth in enumerate(DEPTHS):
                totals[way][at] += recall(names[:depth], question["gold"])
    return {way: [100 * total / len(questions) for total in sums] for way, sums in totals.items()}


async def main(data: Path, wanted: Sequence[str], cache: Path) -> None:
    by_library = defaultdict(list)
    for line in data.read_text().splitlines():
        question = json.loads(line)
        by_library[question["library"]].append(question)
    print(f"recall (percent)      {'  '.join(f'@{depth:<4}' for depth in DEPTHS)}")
    for name, questions in by_library.items():
        if wanted and name not in wanted:
            continue
        try:
            library = await Library.open([name], inspect=inspector(Sandbox()), cache=cache)
        except UsageError as error:
            print(f"{name}: left out. {error}")
            continue
        about = library.libraries[0]
        print(f"{name} {about.version}: {library.size} APIs, {len(questions)} queries")
        for way, figures in (await measure(library, questions)).items():
            print(f"  {way:<20}{'  '.join(f'{figure:5.1f}' for figure in figures)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("libraries", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked.data, asked.libraries, Path(folder))
