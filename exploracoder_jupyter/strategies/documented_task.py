"""The beginning of a strategy: its limits, the libraries, and the documentation of the task as a whole."""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.core.configuration.retrieval_settings import Formulation
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.passage_gathering import gather_passages
from exploracoder_jupyter.pipeline.retrieval.query_rewriting import Query
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run, raise_if_cancelled


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
