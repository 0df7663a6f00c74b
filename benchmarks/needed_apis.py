"""How many of the APIs that a solution needs are in the first prompt that has documentation. No model is asked.

    python -m benchmarks.needed_apis [FILE ...] [--names NAMES] [--details]

Each FILE has problems in a form that `jupyter explora bench` reads; `gold_apis` or `needed_apis` are what a solution
needs, each a dotted name or a list of names of which one is enough. Default: the hard and the everyday set. Without a
list, the names that the reference solution uses and that the library has are needed. NAMES (default:
`data/needed_names.json`) has for each problem the names and phrases that a model wanted to look up, written from the
task alone; problems about larger libraries without them count by the words of the task.

"Words of the task" are 20 APIs found by the task in 4,000 tokens, "default" what the adaptive strategy shows. An API is
shown if its path is, or its name among the members of its class. Problems whose libraries are missing are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.pipeline.context import merge_apis
from exploracoder_jupyter.pipeline.prompting.documentation import CHARACTERS_PER_TOKEN, pack
from exploracoder_jupyter.pipeline.retrieval.lookups import small_library
from exploracoder_jupyter.strategies.documentation import context_tokens, document_names

HERE = Path(__file__).parent
NAMES = HERE / "data" / "needed_names.json"
SETS = (HERE / "problems" / "hard.jsonl", HERE / "problems" / "everyday.jsonl")
FOUND, TOKENS = 20, 4000
"""APIs that the task's words find, and the room for them: the first prompt of `rag` and `example-repair`."""

_HEAD = re.compile(r"^(?:- |### )([A-Za-z_][\w.]*)", re.MULTILINE)
_MEMBERS = re.compile(r"^(?:- |### )([A-Za-z_][\w.]*)|^  Members: ([^\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """What is measured of one problem."""

    id: str
    text: str
    libraries: tuple[str, ...]
    needed: tuple[tuple[str, ...], ...]
    docs: tuple[Path, ...] = ()
    solution: str = ""


@dataclass(frozen=True)
class Measured:
    """How many APIs one problem needs, how many of them each way shows, and with how many characters."""

    id: str
    libraries: tuple[str, ...]
    needed: int
    by_task: int
    by_default: int
    task_characters: int
    default_characters: int


async def read_tasks(path: Path) -> list[Task]:
    """Return the problems of a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if rows and "libraries" in rows[0]:
        folder = _folder(path) or path.parent
        return [
            Task(
                row["id"],
                row["task"],
                tuple(row["libraries"]),
                tuple(map(_alternatives, row.get("needed_apis") or row.get("gold_apis") or ())),
                tuple(folder / doc for doc in row.get("docs", ())),
                row.get("solution") or "",
            )
            for row in rows
        ]
    problems = (await load_problems(path)).problems
    return [Task(one.id, one.task, one.libraries, one.gold_apis, (), one.solution or "") for one in problems]


def _alternatives(names: str | list[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def called_names(solution: str, library: TaskLibraries) -> tuple[tuple[str, ...], ...]:
    """Return the names that a solution uses and the library has."""
    known = {api.name for api in library.apis}
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id: None
        for node in ast.walk(ast.parse(solution))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return tuple((name,) for name in used if name in known)


def shown_paths(text: str) -> set[str]:
    """Return the paths that a prompt's documentation shows, members of classes included."""
    shown, owner = set(), ""
    for found in _MEMBERS.finditer(text):
        owner = found[1] or owner
        shown |= {f"{owner}.{name}" for name in re.findall(r"\w+", found[2])} if found[2] else {owner}
    return shown


def count_shown(needed: Sequence[Sequence[str]], text: str, library: TaskLibraries) -> int:
    """Return how many of the needed APIs the text shows."""
    shown = shown_paths(text)
    shown |= {api.path for path in shown if (api := library.lookup(path))}
    last = {path.rpartition(".")[2] for path in shown}

    def is_shown(name: str) -> bool:
        api = library.lookup(name) if "." in name else None
        return api.path in shown if api else name.rpartition(".")[2] in last

    return sum(any(map(is_shown, names)) for names in needed)


async def measure(task: Task, library: TaskLibraries, names: Sequence[str]) -> Measured:
    """Measure one problem, for which a model wants to look up these names."""
    found = tuple(hit.api for hit in await library.search(task.text, FOUND))
    small = small_library(library.apis)
    shown: tuple[ApiDoc, ...] = found
    if small:
        shown = merge_apis(found, small)
    elif names:
        shown = await document_names(library, names)
    by_task = pack(found, (), TOKENS).apis
    by_default = pack(shown, (), min(TOKENS, context_tokens(library.apis))).apis
    needed = task.needed or called_names(task.solution, library)
    counts = (count_shown(needed, text, library) for text in (by_task, by_default))
    return Measured(task.id, task.libraries, len(needed), *counts, len(by_task), len(by_default))


async def measure_set(path: Path, names: dict[str, list[str]], cache: Path) -> list[Measured]:
    """Measure the problems of a file whose libraries are here; names the others on standard error."""
    opened: dict[tuple[object, ...], TaskLibraries | str] = {}
    inspect, measured = local_inspector(Sandbox(), workdir=_folder(path)), []
    for task in await read_tasks(path):
        key = (task.libraries, task.docs)
        if key not in opened:
            try:
                opened[key] = await TaskLibraries.open(task.libraries, inspect=inspect, cache=cache, docs=task.docs)
            except ExploraError as error:
                opened[key] = str(error)
        library = opened[key]
        if isinstance(library, TaskLibraries):
            measured.append(await measure(task, library, names.get(task.id, ())))
        else:
            print(f"{task.id}: left out. {library}", file=sys.stderr)
    return measured


def _folder(path: Path) -> Path | None:
    folder = path.with_suffix("")
    return folder if folder.is_dir() else None


def read_names(path: Path = NAMES) -> dict[str, list[str]]:
    """Return what a model wanted to look up for each problem; nothing if the file does not exist."""
    return dict(json.loads(path.read_text(encoding="utf-8"))["names"]) if path.exists() else {}


def report(title: str, rows: Sequence[Measured]) -> str:
    """Return one line of the table."""
    needed = sum(row.needed for row in rows) or 1
    shares = [sum(row.by_task for row in rows) / needed, sum(row.by_default for row in rows) / needed]
    tokens = [
        sum(getattr(row, field) for row in rows) / len(rows) / CHARACTERS_PER_TOKEN
        for field in ("task_characters", "default_characters")
    ]
    return (
        f"{title:<28}{len(rows):>9}{needed:>8}{100 * shares[0]:>10.1f}{tokens[0]:>8.0f}"
        f"{100 * shares[1]:>10.1f}{tokens[1]:>8.0f}"
    )


async def main(files: Sequence[Path], names: dict[str, list[str]], details: bool, cache: Path) -> None:
    print(f"{'set, library':<28}{'problems':>9}{'needed':>8}{'task %':>10}{'tokens':>8}{'default %':>10}{'tokens':>8}")
    for path in files:
        rows = await measure_set(path, names, cache)
        groups = defaultdict(list)
        for row in rows:
            groups[" + ".join(row.libraries)].append(row)
        if rows:
            print(report(path.stem, rows))
        for title, group in groups.items() if len(groups) > 1 or details else ():
            print(report(f"  {title}", group))
        for row in rows if details else ():
            print(f"    {row.id}: {row.by_task} and {row.by_default} of {row.needed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--names", type=Path, default=NAMES)
    parser.add_argument("--details", action="store_true", help="a line for each problem too")
    parser.add_argument("--cache", type=Path, help="folder that keeps what was read of the libraries")
    given = parser.parse_args()
    chosen = given.files or [path for path in SETS if path.exists()]
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, chosen, read_names(given.names), given.details, given.cache or Path(folder))
