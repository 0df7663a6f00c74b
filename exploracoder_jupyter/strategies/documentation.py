"""What prompts of strategies show of libraries: retrieved documentation, or documentation of exactly what is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.configuration.sections import Formulation
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Experience
from exploracoder_jupyter.pipeline.code_analysis import find_called_names
from exploracoder_jupyter.pipeline.context import Run, heuristic, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.pipeline.prompting.documentation import CHARACTERS_PER_TOKEN, api_table
from exploracoder_jupyter.pipeline.retrieval.lookups import search_names, small_library, successors, with_ways
from exploracoder_jupyter.pipeline.retrieval.queries import Query, Search, gather_for_task, gather_passages
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution import SolutionAttempts

# The beginning of a strategy: its limits, the libraries, and the documentation of the task as a whole.


def limit_retrieval(
    run: Run,
    *,
    searches: int = 0,
    lookups: int = 0,
    formulation: Formulation = "error",
    as_published: bool = True,
) -> Run:
    """Return the run with what its strategy may retrieve, whatever the user's settings are.

    It may search again after so many failures (`searches`), with queries of this `formulation`, and look up so many
    APIs for one program. For `as_published` see `Run.as_published`.
    """
    retrieval = replace(run.retrieval, rounds=searches, lookups=lookups, formulation=formulation)
    return replace(run, retrieval=retrieval, as_published=as_published)


def begin_unexecuted(run: Run, *, lookups: int = 0) -> SolutionAttempts:
    """Begin a strategy as published that executes nothing."""
    run = limit_retrieval(run, lookups=lookups)
    announce_libraries(run)
    return SolutionAttempts.without_check(run)


async def search_for_task(run: Run) -> Search:
    """Search all sources for the text of the task; the top k APIs are found (naive RAG: ExploraCoder, section 5.4)."""
    return await search_for(run, Query("task", run.task.text))


async def search_for(run: Run, query: Query, round_: int = 0) -> Search:
    """Search all sources on this machine; the top k APIs are found. `round_` counts the searches of the strategy."""
    apis = await _search_index(run, query.text)
    passages = await gather_passages(run, query.text)
    await raise_if_cancelled()
    paths = tuple(api.path for api in apis)
    run.emit(KnowledgeSearched(SOLUTION.id, round_, query.formulation, query.text, paths, passages))
    return Search(run, SOLUTION, apis, passages, apis)


@heuristic("searching the documentation", lambda run, query: ())
async def _search_index(run: Run, query: str) -> tuple[ApiDoc, ...]:
    return tuple(item.api for item in await run.knowledge.search(query, run.settings.retrieved))


# Documentation of exactly what is used: what the default's first prompts show, by the size of the library. Ours.
#
# All of a small library is listed, a line for each API, those that the task's words find in full. Of a larger one
# the first request shows nothing: a model that knows it writes the program, another one names what it wants to look
# up, and gets that. A program that fails brings the documentation of what it called. The measurements behind this
# are in benchmarks/MEASUREMENTS.md, "What a program needs".

_NAMED: Final = 20
"""Most APIs for the names that a model wants to look up."""
_CALLED: Final = 10
"""Most APIs for the names that a failed program calls."""
_TOKENS: Final = 2500
"""Tokens of documentation in one prompt about a library that is not small."""
_TOKENS_BESIDE_LIST: Final = 1000
"""Tokens of documentation in one prompt beside the list of a small library."""
_WANTED = re.compile(r"^[-*>\d. \t`]*look[ _]?up:[ \t`]*([^`\n]+)", re.IGNORECASE | re.MULTILINE)
_PLAIN = frozenset(name for kind in (str, list, dict, set, tuple, int, float) for name in dir(kind))
"""Methods of Python's own types, of which a call says nothing about a library."""


async def begin_search(run: Run) -> Search:
    """Return all of a small library, what fits the task first; of a larger one only what names in the task became."""
    small = small_library(run.knowledge.apis)
    if small:
        search = await search_for_task(run)
        search.apis = merge_apis(search.apis, small)
        return search
    passages = await gather_for_task(run, SOLUTION.id)
    apis = successors(run.knowledge, f"{run.task.text}\n{run.task.setup}")
    given = run.retrieval.docs  # what a user gives is shown; what a library ships is what a model may know
    return Search(run, SOLUTION, apis, tuple(item for item in passages if given or item.source != "documentation"))


def context_tokens(apis: Sequence[ApiDoc]) -> int:
    """Return how many tokens of documentation a prompt needs that is about libraries with these APIs."""
    small = small_library(apis)
    return int(len(api_table(small)) / CHARACTERS_PER_TOKEN) + _TOKENS_BESIDE_LIST if small else _TOKENS


def wanted_names(reply: str) -> list[str]:
    """Return what a reply asks to look up, in the form that the prompt gives."""
    return [name.strip().rstrip(".") for name in _WANTED.findall(reply)]


async def document_names(knowledge: Knowledge, names: Sequence[str], most: int = _NAMED) -> tuple[ApiDoc, ...]:
    """Return the APIs that these names and phrases mean, with what leads to them."""
    return with_ways(knowledge, await search_names(knowledge, names, most))


async def look_up(search: Search, names: Sequence[str]) -> None:
    """Add the documentation of these names and phrases, before all else."""
    await _add(search, names, _NAMED, "task")


async def document_failure(search: Search, failed: Experience) -> None:
    """Add the documentation of what a failed program calls, that which its error names first."""
    error = failed.observation.error
    text = f"{error.report}\n{error.message}" if error else ""
    names = [name for name in find_called_names(failed.candidate.code) if name not in _PLAIN]
    await _add(search, sorted(names, key=lambda name: name.rpartition(".")[2] not in text), _CALLED, "code")


async def _add(search: Search, names: Sequence[str], most: int, formulation: Formulation) -> None:
    found = await _find(search.run, names, most)
    await raise_if_cancelled()
    if found:
        paths = tuple(api.path for api in found)
        search.run.emit(KnowledgeSearched(SOLUTION.id, search.rounds, formulation, "\n".join(names), paths))
        search.apis = merge_apis(found, search.apis)


@heuristic("searching the documentation", lambda run, names, most: ())
async def _find(run: Run, names: Sequence[str], most: int) -> tuple[ApiDoc, ...]:
    return await document_names(run.knowledge, names, most)
