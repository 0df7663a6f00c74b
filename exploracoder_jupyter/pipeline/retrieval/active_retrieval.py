"""Active retrieval: searches for a subtask, or for the solution, again after code failed.

ARKS, section 2.3. Each round builds a new query from the latest failure (`query_rewriting`) and searches the index of
APIs and all sources; the web is searched for the error too, if enabled (CoCoST, section 3.1). The rounds end when two
of them agree, and at the latest after the number in the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Experience, Passage, Subtask
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.passage_gathering import gather_passages, gather_web_passages
from exploracoder_jupyter.pipeline.retrieval.query_rewriting import Query, build_query, web_query
from exploracoder_jupyter.pipeline.step_context import Run, merge_apis, raise_if_cancelled

_FOUND: Final = 8
"""New APIs that one repeated search may add."""
_TOP: Final = 5
"""Two rounds agree if this many of their first APIs are the same, in any order."""


@dataclass(slots=True)
class Search:
    """What has been found so far, the newest first."""

    run: Run
    subtask: Subtask
    apis: tuple[ApiDoc, ...]
    passages: tuple[Passage, ...] = ()
    latest: tuple[ApiDoc, ...] = ()
    """Results of the latest search, best first."""
    rounds: int = 0
    converged: bool = False
    searched: set[str] = field(default_factory=set)
    """Candidates that were searched for, and queries that were sent to the web."""

    async def search_again(self, failed: Experience) -> None:
        """Search with what failed, unless that was done, the last two rounds agree, or the round limit is reached."""
        done = self.converged or self.rounds >= self.run.retrieval.rounds or failed.candidate.id in self.searched
        if done:
            return
        self.searched.add(failed.candidate.id)
        self.rounds += 1
        query = await build_query(self.run, self.subtask, failed)
        apis = await self._search_index(query)
        passages = await gather_passages(self.run, query.text)
        await raise_if_cancelled()
        tops = [{api.path for api in found[:_TOP]} for found in (apis, self.latest)]
        self.converged = tops[0] == tops[1]
        self._add(failed, query, apis, passages)
        online = web_query(self.run, failed) if "web" in self.run.sources.kinds else ""
        if online and online not in self.searched:
            self.searched.add(online)
            passages = await gather_web_passages(self.run, online)
            await raise_if_cancelled()
            self._add(failed, Query("error", online), (), passages)

    def add_used(self, paths: Sequence[str]) -> None:
        """Add the APIs among these that the model has looked up, for the prompts that follow."""
        looked_up = self.run.progress.looked_up
        self.apis = merge_apis(self.apis, tuple(looked_up[path] for path in paths if path in looked_up))

    @heuristic("searching the documentation", lambda self, query: ())
    async def _search_index(self, query: Query) -> tuple[ApiDoc, ...]:
        """Return the results, best first, until enough of them are new: the failed code was written with the others."""
        known = {api.path for api in self.apis}
        apis = [item.api for item in await self.run.knowledge.search_together(query.parts, _FOUND + len(known))]
        new = [place for place, api in enumerate(apis, 1) if api.path not in known]
        return tuple(apis[: new[:_FOUND][-1]] if new else apis[:_FOUND])

    def _add(self, failed: Experience, query: Query, apis: tuple[ApiDoc, ...], passages: tuple[Passage, ...]) -> None:
        subject, text, paths = failed.candidate.id, "\n".join(query.parts), tuple(api.path for api in apis)
        self.run.emit(KnowledgeSearched(subject, self.rounds, query.formulation, text, paths, passages, self.converged))
        self.latest = apis or self.latest
        self.apis = merge_apis(apis, self.apis)
        self.passages = deduplicate((*passages, *self.passages))
