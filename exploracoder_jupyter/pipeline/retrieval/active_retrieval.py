"""Active retrieval: what was found for a subtask, or for the solution, searched for again after code failed.

ARKS, section 2.3. Each round the query is made anew from what failed last (`formulate`), and the index of APIs and the
soup are searched by it; an error is asked of the web too, where that may be searched (CoCoST, section 3.1). The rounds
end when two of them agree, and at the latest with the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Experience, Passage, Subtask
from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.passage_gathering import gather_passages, gather_web_passages
from exploracoder_jupyter.pipeline.retrieval.query_rewriting import Query, build_query, web_query
from exploracoder_jupyter.pipeline.step_context import Run, merge_apis, raise_if_cancelled

_FOUND: Final = 8
"""APIs of one search anew that were not known before."""
_TOP: Final = 5
"""Two rounds agree where the first so many APIs are the same, in any order."""


@dataclass(slots=True)
class Search:
    """What has been found so far; the newest first."""

    run: Run
    subtask: Subtask
    apis: tuple[ApiDoc, ...]
    passages: tuple[Passage, ...] = ()
    latest: tuple[ApiDoc, ...] = ()
    """What the last search found, best first."""
    rounds: int = 0
    """How often it was searched anew."""
    converged: bool = False
    searched: set[str] = field(default_factory=set)
    """Candidates that were searched by, and queries that the web was asked."""

    async def search_again(self, failed: Experience) -> None:
        """Search by what failed, unless that was done, the last two rounds agree, or there were as many as wanted.

        Raises:
            BudgetSpent: nothing more may be asked of the model.
        """
        done = self.converged or self.rounds >= self.run.retrieval.rounds or failed.candidate.id in self.searched
        if done:
            return
        self.searched.add(failed.candidate.id)
        self.rounds += 1
        query = await build_query(self.run, self.subtask, failed)
        apis = await self._search_index(query)
        passages = await gather_passages(self.run, query.text)
        await raise_if_cancelled()
        self.converged = _same_top(apis, self.latest)
        self._emit(failed, query, apis, passages)
        self._add(apis, passages)
        await self._ask_web(failed)

    @heuristic("searching the documentation", lambda self, query: ())
    async def _search_index(self, query: Query) -> tuple[ApiDoc, ...]:
        """What is found, best first, until there is enough that is new: what failed was written with the rest."""
        known = {api.path for api in self.apis}
        apis = [item.api for item in await self.run.knowledge.search_together(query.parts, _FOUND + len(known))]
        new = [place for place, api in enumerate(apis, 1) if api.path not in known]
        return tuple(apis[: new[:_FOUND][-1]] if new else apis[:_FOUND])

    def _add(self, apis: tuple[ApiDoc, ...], passages: tuple[Passage, ...]) -> None:
        self.latest = apis or self.latest
        self.apis = merge_apis(apis, self.apis)
        self.passages = deduplicate((*passages, *self.passages))

    async def _ask_web(self, failed: Experience) -> None:
        query = web_query(self.run, failed) if "web" in self.run.soup.kinds else ""
        if query and query not in self.searched:
            self.searched.add(query)
            passages = await gather_web_passages(self.run, query)
            await raise_if_cancelled()
            self._emit(failed, Query("error", query), (), passages)
            self._add((), passages)

    def _emit(self, failed: Experience, query: Query, apis: Sequence[ApiDoc], passages: tuple[Passage, ...]) -> None:
        paths = tuple(api.path for api in apis)
        subject = failed.candidate.id
        self.run.emit(
            KnowledgeSearched(
                subject, self.rounds, query.formulation, "\n".join(query.parts), paths, passages, self.converged
            )
        )


def _same_top(apis: Sequence[ApiDoc], before: Sequence[ApiDoc]) -> bool:
    return {api.path for api in apis[:_TOP]} == {api.path for api in before[:_TOP]}
