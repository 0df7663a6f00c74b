"""Indexes and searches libraries without a run, for the command line."""

from __future__ import annotations

import ast
import builtins
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sources import Layer, read_secrets, resolve, unknown_variables
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.core.types import ApiDoc, ScoredApi
from exploracoder_jupyter.kernels import choose_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.offline.documentation import DocumentationPool, called_names
from exploracoder_jupyter.pipeline.code_analysis import names_in
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.runs.knowledge_factory import Advance, open_knowledge

Row = dict[str, JsonValue]


async def index(
    libraries: Sequence[str],
    *,
    layers: Sequence[Layer] = (),
    progress: Advance = lambda what, done, total: None,
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Row]:
    """Index the libraries that are not indexed yet, and return a row for each, as `index --json` prints it.

    `say` is called with each message for the user, one sentence each.
    """
    async with open_library(libraries, layers, progress, say) as library:
        return [asdict(row) for row in library.report()]


async def search(
    libraries: Sequence[str],
    query: str,
    k: int,
    *,
    layers: Sequence[Layer] = (),
    progress: Advance = lambda what, done, total: None,
    folder: Path | None = None,
) -> Row:
    """Return the k APIs nearest to the query, and what was searched, as `search --json` prints it.

    Libraries may lie in `folder`, by default the working directory of the process.
    """
    start = time.monotonic()
    notices: list[JsonValue] = []
    async with open_library(libraries, layers, progress, notices.append, folder) as library:
        results = [_row(found, library) for found in await library.search(query, k)]
        return {
            "query": query,
            "results": [*results],
            "libraries": [asdict(row) for row in library.report()],
            "apis": library.size,
            "notices": notices,
            "seconds": round(time.monotonic() - start, 3),
        }


@asynccontextmanager
async def open_library(
    libraries: Sequence[str],
    layers: Sequence[Layer],
    advance: Advance,
    say: Callable[[str], None],
    folder: Path | None = None,
) -> AsyncIterator[TaskLibraries]:
    """Open the libraries for searches; `say` is called with each message for the user, one sentence each.

    They may lie in `folder`, by default the working directory of the process.
    """

    def emit(event: Event) -> None:
        if isinstance(event, Notice):
            say(event.text)

    settings = resolve(*layers)
    for problem, remedy in unknown_variables():
        say(f"{problem} {remedy}")
    async with AsyncExitStack() as stack:
        yield await open_knowledge(
            libraries,
            settings,
            read_secrets(base_url=settings.endpoint.base_url),
            inspect=choose_inspector(settings.sandbox, workdir=folder),
            advance=advance,
            emit=emit,
            stack=stack,
            folder=folder,
        )


def _row(found: ScoredApi, library: TaskLibraries) -> Row:
    api = found.api
    return {
        "path": api.path,
        "kind": api.kind,
        "signature": api.signature,
        "description": api.summary,
        "score": round(found.score, 6),
        "library": api.library,
        "version": api.version,
        "documentation": api.description,
        "examples": [*runnable_examples(api, library)],
        "parameters": [
            # without directives in its text, such as `.. versionadded::`
            {**asdict(one), "about": one.about.partition(" .. ")[0]}
            for one in api.parameters
        ],
        "returns": api.returns,
        "notes": [*api.notes],
        "see_also": [*api.see_also],
        "aliases": [*api.aliases],
        "deprecated": api.deprecated,
        "origin": api.origin,
    }


def runnable_examples(api: ApiDoc, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the examples of an API with their imports; first those that are complete and call the API."""
    completed = [_complete(code, api, DocumentationPool(knowledge)) for code in api.examples]
    return tuple(dict.fromkeys(code for *_, code in sorted(completed, key=lambda one: one[:2])))


def _complete(code: str, api: ApiDoc, pool: DocumentationPool) -> tuple[bool, bool, str]:
    """Return whether a name is undefined, whether the API is not called, and the code with its imports."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):  # from foreign documents: returned unchanged
        return True, True, code
    names = names_in(code)
    free = sorted(name for name in names.read - names.bound - {*dir(builtins)} if not name.startswith("_"))
    imports = [pool.import_for(name, api) for name in free]
    lines = [*dict.fromkeys(line for line in imports if line)]
    gap = [] if not lines or isinstance(tree.body[0], ast.Import | ast.ImportFrom) else [""]
    paths = {path.rpartition(".")[2] for path in (api.path, *api.aliases)}
    return None in imports, paths.isdisjoint(called_names(tree)), "\n".join([*lines, *gap, code])
