"""What a prompt holds of what was found: `python -m benchmarks.prompt_room DATA.jsonl [LIBRARY ...]`.

Each line of DATA is `{"library", "query"}`. For each query 20 APIs are retrieved and packed, alone and with five
passages of 1,800 characters. The report shows the means over a library's queries: characters, how many of the APIs are
named, and of how many of their parameters the explanation, where there is one, has at least begun.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import anyio

from exploracoder_jupyter.core.configuration.sections import Retrieval, Sandbox
from exploracoder_jupyter.core.types import ApiDoc, Passage
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.pipeline.prompting.documentation import pack, strip_whitespace

RETRIEVED = 20
BEGUN = 25
"""Characters of an explanation by which it is known."""
PASSAGES = tuple(Passage("documentation", f"p{i}", f"{i} {'some words of it. ' * 100}", f"o{i}") for i in range(5))


def explained(apis: Sequence[ApiDoc], text: str) -> float:
    """Of how many parameters the explanation has begun, from 0 to 1."""
    about = [strip_whitespace(one.about)[:BEGUN] for api in apis for one in api.parameters if len(one.about) > BEGUN]
    packed = strip_whitespace(text)
    return mean(start in packed for start in about) if about else 0.0


async def main(data: Path, wanted: Sequence[str], cache: Path) -> None:
    by_library = defaultdict(list)
    for line in data.read_text().splitlines():
        question = json.loads(line)
        by_library[question["library"]].append(question["query"])
    tokens = Retrieval().context_tokens
    for name in wanted or by_library:
        library = await TaskLibraries.open([name], inspect=local_inspector(Sandbox()), cache=cache)
        found = [[hit.api for hit in await library.search(query, RETRIEVED)] for query in by_library[name]]
        alone = [pack(apis, (), tokens).apis for apis in found]
        beside = [pack(apis, PASSAGES, tokens) for apis in found]
        print(f"{name}: {len(found)} queries, {tokens} tokens")
        print(f"  characters           {mean(map(len, alone)):8.0f}")
        print(f"  with passages        {mean(len(one.apis) + len(one.passages) for one in beside):8.0f}")
        pairs = list(zip(found, alone, strict=True))
        print(f"  APIs named           {mean(sum(f' {a.path}' in text for a in apis) for apis, text in pairs):8.1f}")
        print(f"  parameters explained {100 * mean(explained(apis, text) for apis, text in pairs):7.0f}%")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("libraries", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, asked.data, asked.libraries, Path(folder))
