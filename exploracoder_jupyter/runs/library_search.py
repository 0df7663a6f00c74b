"""Indexes and searches libraries without a run, for the command line."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.settings_sources import Layer, read_secrets, resolve, unknown_variables
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.core.types import Parameter, ScoredApi
from exploracoder_jupyter.kernels import choose_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs.construction.knowledge_factory import Advance, open_knowledge
from exploracoder_jupyter.runs.runnable_examples import runnable_examples

Row = dict[str, JsonValue]


def _ignore_message(sentence: str) -> None:
    """Discard a message; the default for `say`."""


async def index(
    libraries: Sequence[str],
    *,
    layers: Sequence[Layer] = (),
    progress: Advance | None = None,
    say: Callable[[str], None] = _ignore_message,
) -> list[Row]:
    """Index the libraries that are not indexed yet, and return a row for each, as `index --json` prints it.

    `say` is called with each message for the user, one sentence each.
    """
    async with open_library(libraries, layers, progress or _ignore_progress, say) as library:
        return [asdict(row) for row in library.report()]


async def search(
    libraries: Sequence[str], query: str, k: int, *, layers: Sequence[Layer] = (), progress: Advance | None = None
) -> Row:
    """Return the k APIs nearest to the query, and what was searched, as `search --json` prints it."""
    start = time.monotonic()
    notices: list[JsonValue] = []
    async with open_library(libraries, layers, progress or _ignore_progress, notices.append) as library:
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
    libraries: Sequence[str], layers: Sequence[Layer], advance: Advance, say: Callable[[str], None]
) -> AsyncIterator[TaskLibraries]:
    """Open the libraries for searches; `say` is called with each message for the user, one sentence each."""

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
            read_secrets(),
            inspect=choose_inspector(settings.sandbox),
            advance=advance,
            emit=emit,
            stack=stack,
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
        "parameters": [_parameter(parameter) for parameter in api.parameters],
        "returns": api.returns,
        "notes": [*api.notes],
        "see_also": [*api.see_also],
        "aliases": [*api.aliases],
        "deprecated": api.deprecated,
        "origin": api.origin,
    }


def _parameter(parameter: Parameter) -> Row:
    """Convert a parameter to JSON, without directives in its text, such as `.. versionadded::`."""
    return {**asdict(parameter), "about": parameter.about.partition(" .. ")[0]}


def _ignore_progress(what: str, done: int, total: int) -> None:
    """Discard progress; the default for `progress`."""
