"""The search over an environment: `python benchmarks/environment_search.py [--python PATH] [--vectors] [--misses]`.

Reads everything that is installed beside this interpreter, or the one at PATH, into an empty folder, and reports how
long that takes, again with nothing to do and with one package to read anew, how large the index is, and how long
queries take in the process that has it open and as a command.

Then it asks the questions of data/search_questions.json whose library is installed there, without naming the library,
and those of data/environment_questions.json, which were written without seeing the ranking, and reports how often the
right package is among the first one and three, and the right API among the first ten. Of one package, ten APIs are
listed.

`--vectors` compares numpy with FAISS on 10,000 and 100,000 rows (`--rows` for others) made from the texts that were
read.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.knowledge.environment.environment_index import EnvironmentIndex, open_environment
from exploracoder_jupyter.knowledge.environment.installed_packages import import_path, list_packages
from exploracoder_jupyter.knowledge.environment.package_ranking import FoundPackage, rank_packages
from exploracoder_jupyter.knowledge.environment.search_fields import dense_text
from exploracoder_jupyter.knowledge.search import stored_vectors, vectors

DATA = Path(__file__).parent / "data"
PACKAGES, APIS = 10, 10
NEAREST, RANKED_AGAIN = 20, 200

_MEMORY = """
import sys, pathlib, psutil, numpy
from exploracoder_jupyter.knowledge.environment.environment_index import open_environment
from exploracoder_jupyter.knowledge.environment.package_ranking import rank_packages
from exploracoder_jupyter.knowledge.search.faiss_library import load_faiss
load_faiss()
print(psutil.Process().memory_full_info().uss / 1e6)
with open_environment(pathlib.Path(sys.argv[1]), sys.argv[2:]) as index:
    for number in range(20):
        rank_packages(index, f"read table {number} and draw a chart of its columns", packages=5, apis=3)
print(psutil.Process().memory_full_info().uss / 1e6)
"""

Question = tuple[str, str, list[str]]


def installed_questions(part: dict[str, list[tuple[str, list[str]]]], index: EnvironmentIndex) -> list[Question]:
    names = {*index.store.packages(), *(row.api.path for row in package_rows(index))}
    return [
        (library, query, right)
        for library, questions in part.items()
        if {library, normalize_name(library)} & names
        for query, right in questions
    ]


def package_rows(index: EnvironmentIndex) -> list:
    return [row for one in index.store.packages().values() if (row := index.store.own_row(one.id))]


def is_of(found: FoundPackage, library: str) -> bool:
    return normalize_name(library) in (normalize_name(found.name), normalize_name(found.module))


def answers(path: str, right: Sequence[str]) -> bool:
    return any(f".{path}".endswith(f".{end}") for end in right)


def ask(index: EnvironmentIndex, questions: Sequence[Question], *, misses: bool) -> tuple[list[int], list[bool]]:
    """The rank of the right package, and whether one of the ten best APIs of all is right."""
    ranks, right_api = [], []
    for library, query, right in questions:
        found = rank_packages(index, query, packages=PACKAGES, apis=APIS)
        ranks.append(next((place for place, one in enumerate(found, 1) if is_of(one, library)), 1000))
        best = sorted(((api.score, api.path) for one in found for api in one.apis), reverse=True)[:APIS]
        right_api.append(any(answers(path, right) for _, path in best))
        if misses and ranks[-1] > 3:
            print(f"    {library}: {query}: {ranks[-1]}; {', '.join(one.name for one in found[:4])}")
    return ranks, right_api


def report(name: str, ranks: Sequence[int], right_api: Sequence[bool]) -> None:
    count = len(ranks) or 1
    first, three = (100 * sum(rank <= depth for rank in ranks) / count for depth in (1, 3))
    print(f"{name:<28}{len(ranks):>5}{first:>8.1f}{three:>8.1f}{100 * sum(right_api) / count:>12.1f}", flush=True)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def build(cache: Path, python: str | None) -> None:
    def open_it() -> None:
        with open_environment(cache, import_path(python)) as index:
            last.append(index)

    last: list[EnvironmentIndex] = []
    first = timed(open_it)
    unchanged = min(timed(open_it) for _ in range(3))
    index = last[-1]
    packages = list_packages(import_path(python))
    folder = next(cache.iterdir())
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    code = sum(package.info.parent.joinpath(package.info.name).exists() for package in packages)
    print(f"{index.read} of {code} distributions, {index.store.size():,} rows: read in {first:.1f} s; {size:.1f} MB")
    middle = sorted(index.store.packages().values(), key=lambda one: len(index.store.rows_of(one.id)))[-10]
    index.store.remove([middle.key])
    print(f"with {middle.name} to read anew: {timed(open_it):.2f} s; with nothing to do: {unchanged:.2f} s")


def ask_all(cache: Path, arguments: argparse.Namespace) -> None:
    with open_environment(cache, import_path(arguments.python)) as index:
        print(f"\n{'questions':<28}{'':>5}{'first':>8}{'first 3':>8}{'API of 10':>12}")
        queries = []
        parts = json.loads((DATA / "search_questions.json").read_text())
        new = DATA / "environment_questions.json"
        if new.exists():
            parts["new"] = json.loads(new.read_text())
        for name, part in parts.items():
            if questions := installed_questions(part, index):
                report(name, *ask(index, questions, misses=arguments.misses))
                queries += [query for _, query, _ in questions]
        seconds = [timed(partial(rank_packages, index, query, packages=5, apis=3)) for query in queries]
        times = [1000 * one for one in seconds] or [0.0]
        print(f"a query in the open index: median {statistics.median(times):.0f} ms, 95 %: "
              f"{np.percentile(times, 95):.0f} ms")  # fmt: skip
    memory = subprocess.run([sys.executable, "-c", _MEMORY, str(cache), *import_path(arguments.python)],
                            capture_output=True, text=True, check=True)  # fmt: skip
    before, after = map(float, memory.stdout.split())
    print(f"private memory after 20 queries: {after:.0f} MB, of which Python with numpy and FAISS "
          f"{before:.0f} MB")  # fmt: skip
    command = [sys.executable, "-m", "exploracoder_jupyter.cli", "find", "shortest path in a graph"]
    command += ["--python", arguments.python] if arguments.python else []
    environ = {"XDG_CACHE_HOME": str(cache), "PATH": "/usr/bin:/bin", "HOME": str(cache)}
    (cache / "exploracoder_jupyter").mkdir(exist_ok=True)
    for folder in [one for one in cache.iterdir() if (one / "index.sqlite").exists()]:
        shutil.copytree(folder, cache / "exploracoder_jupyter" / "environments" / folder.name, dirs_exist_ok=True)
    runs = [timed(partial(subprocess.run, command, env=environ, capture_output=True, check=True)) for _ in range(5)]
    print(f"as a command: median {statistics.median(runs):.2f} s of {len(runs)}")


def compare_vectors(cache: Path, arguments: argparse.Namespace) -> None:
    """numpy and FAISS on the same rows: texts that were read, and for more rows two of them joined."""
    with open_environment(cache, import_path(arguments.python)) as index:
        texts = [dense_text(row.api) for one in index.store.packages().values() for row in index.store.rows_of(one.id)]
    real = np.stack([vectors.embed_text(text) for text in texts])
    random = np.random.default_rng(7)
    print(f"\n{'rows':>9}{'':>8}{'build':>9}{'open':>9}{'query':>9}{'recall@20':>11}{'file':>8}")
    for size in arguments.rows:
        one, other = random.integers(len(real), size=(2, size))
        share = random.random((size, 1), dtype=np.float32) if size > len(real) else np.ones((size, 1), np.float32)
        made = share * real[one] + (1 - share) * real[other]
        rows = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
        asked = real[random.integers(len(real), size=50)]
        asked = asked[np.linalg.norm(asked, axis=1) > 0]
        exact = [np.argsort(-(rows @ query))[:NEAREST] for query in asked]
        for name, loaded in (("numpy", None), ("FAISS", stored_vectors.load_faiss())):
            stored_vectors.load_faiss = lambda loaded=loaded: loaded
            path = cache / f"{name}-{size}"
            built = timed(partial(stored_vectors.write_vectors, path, range(size), rows.astype(np.float32)))
            opened = timed(partial(stored_vectors.StoredVectors.open, path))
            index = stored_vectors.StoredVectors.open(path)
            found = []
            start = time.perf_counter()
            for query in asked:
                ids, _ = index.nearest(query, RANKED_AGAIN)
                found.append(ids[np.argsort(-(rows[ids] @ query))[:NEAREST]])
            seconds = (time.perf_counter() - start) / len(asked)
            # rows with equal texts are equally right
            least = [float((rows[right] @ query).min()) - 1e-4 for right, query in zip(exact, asked, strict=True)]
            recall = np.mean([
                np.mean(rows[ids] @ query >= low) * len(ids) / NEAREST
                for ids, query, low in zip(found, asked, least, strict=True)
            ])  # fmt: skip
            file = max(one.stat().st_size for one in cache.glob(f"{name}-{size}.*")) / 1e6
            print(f"{size:>9,}{name:>8}{built:>8.2f}s{1000 * opened:>7.1f}ms{1000 * seconds:>7.2f}ms"
                  f"{recall:>11.3f}{file:>6.1f}MB", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="interpreter of the environment that is searched")
    parser.add_argument("--cache", type=Path, help="folder with the index, which is kept; then the build is not timed")
    parser.add_argument("--vectors", action="store_true", help="also compare numpy with FAISS")
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--misses", action="store_true", help="show the questions whose package is not among three")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.cache or Path(temporary)
        if not asked.cache:
            build(place, asked.python)
        ask_all(place, asked)
        if asked.vectors:
            compare_vectors(Path(temporary) if not asked.cache else place, asked)
