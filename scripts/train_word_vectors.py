"""Trains the built-in word vectors.

`python scripts/train_word_vectors.py --teacher FOLDER --cache FOLDER [LIBRARY ...]` writes them.

The vectors are distilled from a sentence embedding model, the teacher, for which FOLDER is one that `transformers`
loads: the sum of the vectors of a text's words is to point where the teacher, after a reduction of its dimensions,
places the text. What is learned from are short technical texts: openings of the documentation of libraries; comments
and first lines of docstrings in the installed packages; descriptions of Debian's packages, if there is `apt-cache`.
`--without` names packages of which nothing is read, so that search can be measured on them.

Takes half an hour on two processors, and needs torch and transformers besides the package. The `words.npz` in the
package was made from all-MiniLM-L6-v2 (Apache-2.0, benchmarks/MEASUREMENTS.md), with `vocabulary_of`, `train`,
`write`, on texts that an earlier form of this script had collected and embedded in parts, not by this command.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.extraction.library_reader import LibraryReader
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.vectors import PATH
from exploracoder_jupyter.text.tokenizer import tokens

DIMENSIONS = 96
WORDS = 13_300
"""Size of the vocabulary; with it the package stays below 3 MB."""
LINES = 40_000
"""How many comments, docstrings and descriptions are learned from, each."""
OPENING = 300
"""Characters of an API's documentation."""
ROUNDS = 8
BATCH = 1024
RATE = 3e-3
SHARPNESS = 20.0
"""Factor of the similarities between texts, before they are compared as probabilities."""
ORDER_WEIGHT = 0.3
"""How much the order of the other texts by similarity counts; the direction of the text counts 1."""
COMMENT = re.compile(r"^\s*# ([A-Z]?[a-z][^#\n=(){}\[\]<>]{15,120})$", re.MULTILINE)
DOCSTRING = re.compile(r'"""([A-Z][^"\n]{15,160}[.\w])(?:"""|\n)')
DESCRIPTION = re.compile(r"^Description(?:-en)?: (.+)$", re.MULTILINE)
DIRECTIVE = re.compile(r"noqa|type:|pylint|pragma")


async def api_texts(name: str, kernel: str | None, cache: Path) -> list[str]:
    """Return path and opening of each API of a library; nothing if it cannot be read."""
    try:
        reader = LibraryReader(local_inspector(Sandbox(kernel=kernel)), KnowledgeCache(cache), lambda *_: None)
        apis = (await reader.libraries([name], ())).read[0].surface.apis
    except ExploraError as error:
        print(f"{name}: left out. {error}", flush=True)
        return []
    paths = (re.sub(r"[._]", " ", api.path) for api in apis)
    openings = (f"{api.summary} {indexed_text.opening(api)[:OPENING]}" for api in apis)
    return [f"{path}: {opening}" for path, opening in zip(paths, openings, strict=True)]


def source_lines(folders: Iterable[Path], without: Iterable[str]) -> Iterator[list[str]]:
    """Return comments, and first lines of docstrings, of the modules below these folders."""
    skipped = {*without, "tests", "test"}
    comments, docstrings = set[str](), set[str]()
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        if not skipped & {*path.parts}:
            text = path.read_text(encoding="utf-8", errors="replace")
            comments |= {one for one in COMMENT.findall(text) if is_sentence(one) and not DIRECTIVE.search(one)}
            docstrings |= {one for one in DOCSTRING.findall(text) if is_sentence(one)}
    yield from (some(comments), some(docstrings))


def package_descriptions() -> list[str]:
    """Return what Debian's packages are described as."""
    if not shutil.which("apt-cache"):
        return []
    shown = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, errors="replace", check=True)
    return some({*DESCRIPTION.findall(shown.stdout)})


def is_sentence(line: str) -> bool:
    """Return whether the line is neither a word nor a paragraph."""
    return 4 <= len(line.split()) <= 20


def some(lines: set[str]) -> list[str]:
    """Return `LINES` of the lines, chosen at random."""
    return random.sample(sorted(lines), min(LINES, len(lines)))


def vocabulary_of(texts: Sequence[str]) -> tuple[list[str], list[str], NDArray[np.float32]]:
    """Return the most frequent terms, how each is most often spelled, and how rare it is (mean 1)."""
    counts = Counter(term for text in texts for term in {*tokens(text)})
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, number in Counter(re.findall(r"[A-Za-z]+", "\n".join(texts).lower())).items():
        if len(terms := tokens(word)) == 1:
            spellings[terms[0]][word] += number
    chosen = [term for term, _ in counts.most_common() if not term.isdigit()][:WORDS]
    rarity = np.log(len(texts) / np.array([counts[term] for term in chosen]))
    spelled = [max(spellings[term], key=spellings[term].__getitem__, default=term) for term in chosen]
    return chosen, spelled, (rarity / rarity.mean()).astype(np.float32)


def embed(teacher: str, texts: Sequence[str], longest: int) -> NDArray[np.float32]:
    """Return where the teacher places texts: the mean of the last states of their tokens, of length 1."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(teacher), AutoModel.from_pretrained(teacher).eval()
    placed = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), 64):
        rows = order[start : start + 64]
        batch = tokenizer(
            [texts[row] for row in rows], padding=True, truncation=True, max_length=longest, return_tensors="pt"
        )
        with torch.inference_mode():
            states, mask = model(**batch).last_hidden_state, batch.attention_mask[..., None].float()
        placed[rows] = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1).numpy()
    return placed


def train(texts: Sequence[str], vocabulary: Sequence[str], start: NDArray[np.float32], places: Any) -> Any:
    """Return a vector for each word, so that the sum for a text points to its place, and texts near each other stay so.

    `start` has the first vectors, `places` where the texts belong.
    """
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    at = {term: row for row, term in enumerate(vocabulary)}
    coded = [[at[term] for term in tokens(text)[:80] if term in at] for text in texts]
    usable = [row for row, words in enumerate(coded) if len(words) >= 2]
    vectors = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(start), freeze=False, mode="sum")
    optimizer = torch.optim.Adam(vectors.parameters(), lr=RATE)
    steps = ROUNDS * (len(usable) // BATCH)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.05, 1 - step / steps))
    for step in range(steps):
        if (begin := step * BATCH % (len(usable) // BATCH * BATCH)) == 0:
            random.shuffle(usable)
        rows = usable[begin : begin + BATCH]
        words = [torch.tensor(coded[row]) for row in rows]
        starts = torch.tensor([0, *np.cumsum([len(one) for one in words])[:-1]])
        found, wanted = functional.normalize(vectors(torch.cat(words), starts), dim=1), places[rows]
        near = [(one @ one.T * SHARPNESS).fill_diagonal_(-1e4) for one in (found.clone(), wanted)]
        order = functional.kl_div(near[0].log_softmax(1), near[1].softmax(1), reduction="batchmean")
        loss = (1 - (found * wanted).sum(1)).mean() + ORDER_WEIGHT * order
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        falling.step()
        if step % 100 == 0:
            print(f"step {step} of {steps}, loss {loss.item():.3f}", flush=True)
    return vectors.weight.detach().numpy()


def distill(texts: Sequence[str], teacher: str) -> tuple[list[str], NDArray[np.float32]]:
    """Return the vocabulary and the vectors."""
    import torch

    vocabulary, spelled, rarity = vocabulary_of(texts)
    places = embed(teacher, texts, 96)
    axes = np.linalg.eigh(np.cov(places.T))[1][:, : -DIMENSIONS - 1 : -1].astype(np.float32)
    reduced = [torch.nn.functional.normalize(torch.tensor(one @ axes)) for one in (places, embed(teacher, spelled, 16))]
    return vocabulary, train(texts, vocabulary, reduced[1].numpy() * rarity[:, None], reduced[0])


def write(path: Path, vocabulary: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write a byte for each number, and a scale for each word."""
    scales = np.abs(vectors).max(axis=1) / 127
    words = np.frombuffer(json.dumps(vocabulary).encode(), dtype=np.uint8)
    rounded = np.round(vectors / scales[:, None]).astype(np.int8)
    np.savez_compressed(path, vocabulary=words, vectors=rounded, scales=scales.astype(np.float32))


async def main(given: argparse.Namespace) -> None:
    """Collect the texts, train, and write."""
    random.seed(0)
    described = [text for name in given.libraries for text in await api_texts(name, given.kernel, given.cache)]
    lines = [*source_lines(given.sources, given.without), package_descriptions()]
    texts = [*(line for part in lines for line in part), *described]
    print(f"{len(described)} APIs, {', '.join(str(len(part)) for part in lines)} lines", flush=True)
    write(given.out, *distill(texts, given.teacher))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", help="import names of libraries whose documentation is learned from")
    parser.add_argument("--teacher", required=True, help="folder of a sentence embedding model")
    parser.add_argument("--sources", nargs="*", type=Path, default=[], help="folders with installed packages")
    parser.add_argument("--without", nargs="*", default=["pandas", "numpy"], help="packages whose sources are skipped")
    parser.add_argument("--kernel", help="kernelspec in which the libraries are installed")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which what was read is kept")
    parser.add_argument("--out", type=Path, default=PATH)
    anyio.run(main, parser.parse_args())
