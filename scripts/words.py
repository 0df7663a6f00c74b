"""Trains the built-in word vectors from the documentation of many libraries: `python scripts/words.py --cache FOLDER`.

Learns which words mean alike from pairs of texts that speak of the same API: its name and its first sentence, its first
sentence and the next ones, what others say of it under "See Also", first sentences of functions of one name in several
libraries. A text is the sum of its words; the two of a pair are to be nearer to each other than to the others of their
batch (InfoNCE), also where the words that they share are left out. Takes minutes on one processor and nothing but numpy
and scipy; the same documentation gives the same vectors. The `words.npz` in the package was made with these functions,
library by library and on an earlier walker, not by one run of this command.

`--without` names libraries to learn nothing from, so that search can be measured on them: texts that others have of
them are left out too.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from exploracoder_jupyter.core.configuration.settings import Sandbox
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.kernels.agent_programs import local_inspector
from exploracoder_jupyter.knowledge.extraction.library_reader import LibraryReader
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.word_embedder import PATH
from exploracoder_jupyter.text.tokenizer import tokens

LIBRARIES = """
    scipy sklearn skimage statsmodels networkx sympy matplotlib seaborn polars xarray pyarrow sqlalchemy PIL nltk
    shapely geopandas astropy requests httpx flask attr more_itertools plotly bokeh altair toolz boltons arrow
    pendulum bs4 h5py lxml openpyxl rich click pydantic textblob janitor narwhals duckdb ibis awkward numba pywt
    zarr tinydb pytest itertools functools collections statistics random math datetime calendar json csv sqlite3 re
    string textwrap pathlib os shutil zipfile tarfile urllib subprocess threading asyncio logging argparse
    configparser decimal fractions heapq bisect array struct io glob tempfile hashlib secrets email html xml http
    socket pickle copy operator inspect ast typing dataclasses enum contextlib queue concurrent multiprocessing
    unittest builtins
    """.split()  # noqa: SIM905
"""What the vectors in the package were learned from, in November 2026, library by library, on an earlier walker."""

DIMENSIONS = 96
ROUNDS = 10
BATCH = 1024
TEMPERATURE = 0.07
LEFT_OUT = 0.4
"""How often a word that both texts share is left out of the first."""
RATE = 0.01
LONGEST = 64
SEEN = 4
"""In so many pairs a word must occur."""
SENTENCES = 5
NAMESAKES = 12
"""Pairs for one name that several libraries have; a name of more than 25 libraries says nothing."""

Pair = tuple[str, str]
Coded = tuple[list[int], list[int]]


async def read(name: str, kernel: str | None, cache: Path) -> list[ApiDoc]:
    """The documented APIs of a library, each text once; none where it cannot be read."""
    try:
        reader = LibraryReader(local_inspector(Sandbox(kernel=kernel)), KnowledgeCache(cache), lambda *_: None)
        surface = (await reader.libraries([name], ())).read[0].surface
    except ExploraError as error:
        print(f"{name}: left out. {error}", flush=True)
        return []
    print(f"{name} {surface.info.version}: {len(surface.apis)} APIs", flush=True)
    return list({api.description: api for api in surface.apis if api.summary}.values())


def pairs(libraries: Sequence[Sequence[ApiDoc]]) -> Iterator[Pair]:
    """Texts of the same API."""
    bearers: defaultdict[str, list[str]] = defaultdict(list)
    for apis in libraries:
        summaries = {api.name: f"{api.name} {api.summary}" for api in reversed(apis)}
        for api in {api.summary: api for api in reversed(apis)}.values():
            yield " ".join(api.path.split(".")[1:][-2:]), api.summary
            yield from ((sentence, api.summary) for sentence in sentences(indexed_text.opening(api))[1:SENTENCES])
            yield from (
                (text, summaries[name])
                for name, text in indexed_text.see_also_entries(api.description)
                if name in summaries
            )
        for name in summaries:
            bearers[name.lower().replace("_", "")].append(summaries[name].partition(" ")[2])
    for name, said in sorted(bearers.items()):
        if 2 <= len(said) <= 25 and len(name) > 2:
            for _ in range(min(2 * len(said), NAMESAKES)):
                one, other = random.sample(said, 2)
                yield one, other


def sentences(text: str) -> list[str]:
    """The sentences that are neither a word nor a page."""
    return [one for one in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if 3 <= len(one.split()) <= 60]


def coded(told: Sequence[Pair]) -> tuple[list[str], NDArray[np.float32], list[Coded]]:
    """The vocabulary, how rare each word is, and the pairs as numbers of words."""
    split = [(tokens(one)[:LONGEST], tokens(other)[:LONGEST]) for one, other in told]
    counts = Counter(term for one, other in split for term in dict.fromkeys(one + other))
    vocabulary = [term for term, often in counts.most_common() if often >= SEEN and not term.isdigit()]
    at = {term: number for number, term in enumerate(vocabulary)}
    numbers = [tuple([at[term] for term in side if term in at] for side in pair) for pair in split]
    rare = np.log(len(split) / np.array([counts[term] for term in vocabulary]))
    return vocabulary, rare.astype(np.float32), [(one, other) for one, other in numbers if len(one) > 1 and other]


def trained(rare: NDArray[np.float32], learned: list[Coded]) -> NDArray[np.float32]:
    """A vector for each word, longer where the word says more (Adam, falling rate)."""
    random_ = np.random.default_rng(0)
    shape = (len(rare), DIMENSIONS)
    vectors = (random_.normal(0, DIMENSIONS**-0.5, shape) * (rare / rare.mean())[:, None]).astype(np.float32)
    first, second = np.zeros_like(vectors), np.zeros_like(vectors)
    steps = ROUNDS * (len(learned) // BATCH)
    for step in range(1, steps + 1):
        at = (step - 1) * BATCH % (len(learned) // BATCH * BATCH)
        if at == 0:
            random.shuffle(learned)
        slope = gradient(vectors, [turned(pair) for pair in learned[at : at + BATCH]])
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        rate = RATE * max(0.05, 1 - step / steps)
        vectors -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return vectors


def turned(pair: Coded) -> Coded:
    """The pair in either order, the first without some of the words that both share."""
    one, other = pair if random.random() < 0.5 else pair[::-1]
    shared = set(other)
    return [word for word in one if word not in shared or random.random() >= LEFT_OUT] or one, other


def gradient(vectors: NDArray[np.float32], batch: Sequence[Coded]) -> NDArray[np.float32]:
    """Of the loss, by the vectors: each text of the batch is to be nearest to its own other."""
    sides = [bag([pair[side] for pair in batch], len(vectors)) for side in (0, 1)]
    sums = [side @ vectors for side in sides]
    lengths = [np.linalg.norm(one, axis=1, keepdims=True) + 1e-9 for one in sums]
    units = [one / length for one, length in zip(sums, lengths, strict=True)]
    near = np.exp((units[0] @ units[1].T - 1) / TEMPERATURE)
    pull = (near / near.sum(1, keepdims=True) + near / near.sum(0, keepdims=True)) / 2 - np.eye(len(batch))
    pull = (pull / (len(batch) * TEMPERATURE)).astype(np.float32)
    slopes = [pull @ units[1], pull.T @ units[0]]
    return sum(
        side.T @ ((slope - unit * (slope * unit).sum(1, keepdims=True)) / length)
        for side, slope, unit, length in zip(sides, slopes, units, lengths, strict=True)
    )


def bag(rows: Sequence[Sequence[int]], width: int) -> csr_matrix:
    """How often each word occurs in each row."""
    ends = np.cumsum([0, *(len(row) for row in rows)])
    words = np.fromiter((word for row in rows for word in row), dtype=np.int32, count=ends[-1])
    return csr_matrix((np.ones(len(words), dtype=np.float32), words, ends), shape=(len(rows), width))


def write(path: Path, vocabulary: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """A byte for each number, and a scale for each word."""
    scales = np.abs(vectors).max(axis=1) / 127
    words = np.frombuffer(json.dumps(vocabulary).encode(), dtype=np.uint8)
    rounded = np.round(vectors / scales[:, None]).astype(np.int8)
    np.savez_compressed(path, vocabulary=words, vectors=rounded, scales=scales.astype(np.float32))


async def main(names: Sequence[str], without: Sequence[str], kernel: str | None, cache: Path, out: Path) -> None:
    """Read, learn, write."""
    random.seed(0)
    apart = {api.description for name in without for api in await read(name, kernel, cache)}
    apart |= {text.partition("\n\n")[0] for text in apart}
    libraries = [
        [
            api
            for api in await read(name, kernel, cache)
            if not {api.description, api.description.partition("\n\n")[0]} & apart
        ]
        for name in names
    ]
    vocabulary, rare, learned = coded(list(pairs(libraries)))
    print(f"{sum(map(len, libraries))} APIs, {len(learned)} pairs, {len(vocabulary)} words")
    write(out, vocabulary, trained(rare, learned))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES)
    parser.add_argument("--without", nargs="*", default=["pandas", "numpy"])
    parser.add_argument("--kernel", help="kernelspec in which the libraries are installed")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which what was read is kept")
    parser.add_argument("--out", type=Path, default=PATH)
    asked = parser.parse_args()
    anyio.run(main, asked.libraries, asked.without, asked.kernel, asked.cache, asked.out)
