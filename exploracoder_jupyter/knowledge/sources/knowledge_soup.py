"""All sources of a run behind one search: the knowledge soup (ARKS, section 2.1).

Sources rank by scores that cannot be compared, so their ranks are fused; as every source has a first hit, however far
from the query, the words of all hits are ranked once more together. A source that fails or is slow gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import anyio
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet, SourceKind
from exploracoder_jupyter.knowledge.search.rank_fusion import fused
from exploracoder_jupyter.knowledge.sources.ranked_passages import Ranked
from exploracoder_jupyter.knowledge.sources.snippet_source import SnippetSource
from exploracoder_jupyter.pipeline.ports import Source

Say = Callable[[str], None]
"""Is told in a sentence what the user should know."""

_PATIENCE: dict[SourceKind, float] = {"web": 20.0}
_USUAL_PATIENCE = 2.0
"""Seconds that a search waits for a source on this machine."""

_NAMES: dict[SourceKind, str] = {
    "documentation": "The documentation",
    "snippet": "The kept snippets",
    "web": "The web",
    "workspace": "Your files",
}


class Soup:
    """Implements `pipeline.ports.Soup`; `kept` is a source that also learns and forgets."""

    def __init__(
        self,
        sources: Sequence[Source] = (),
        *,
        kept: SnippetSource | None = None,
        say: Say = lambda sentence: None,
        patience: float | None = None,
    ) -> None:
        self._sources: tuple[Source, ...] = (*sources, kept) if kept else tuple(sources)
        self._kept = kept
        self._say = say
        self._said: set[SourceKind] = set()
        self._patience = patience

    @property
    def kinds(self) -> frozenset[SourceKind]:
        """What there is to search."""
        return frozenset(source.kind for source in self._sources)

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """The k passages nearest to the query over the sources of these kinds (none given: all), best first."""
        asked = [source for source in self._sources if among is None or source.kind in among]
        if k < 1 or not query.strip():
            return ()
        rankings: list[Sequence[ScoredPassage]] = [() for _ in asked]

        async def ask(at: int) -> None:
            rankings[at] = await self._ask(asked[at], query, k)

        async with anyio.create_task_group() as group:
            for at in range(len(asked)):
                group.start_soon(ask, at)
        found = _together(query, rankings)
        return _balanced(found, k)

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Keep code that ran for later tasks, where that is wanted."""
        if self._kept:
            await self._kept.learn(snippets)

    async def forget(self, origins: Sequence[str]) -> None:
        """Drop kept snippets that do not run any more, by the origin of their passages."""
        if self._kept:
            await self._kept.forget(origins)

    async def _ask(self, source: Source, query: str, k: int) -> Sequence[ScoredPassage]:
        seconds = self._patience or scale(_PATIENCE.get(source.kind, _USUAL_PATIENCE))
        try:
            with anyio.fail_after(seconds):
                return (await source.search(query, k))[:k]
        except TimeoutError:
            self._say_once(source.kind, f"took longer than {seconds:g} s to search, and gave nothing.")
        except Exception as error:  # a run goes on without a source, whatever is wrong with it
            why = error.message if isinstance(error, ExploraError) else type(error).__name__
            self._say_once(source.kind, f"could not be searched: {why.rstrip('.')}.")
        return ()

    def _say_once(self, kind: SourceKind, what: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._say(f"{_NAMES[kind]} {what}")


def _together(query: str, rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    """The hits of all sources in one order, each text once."""
    pool: dict[str, Passage] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        pool.setdefault(_text(hit.passage), hit.passage)
    if not pool:
        return []
    rows = {text: row for row, text in enumerate(pool)}
    passages = tuple(pool.values())
    by_words = {_text(hit.passage): hit.score for hit in Ranked(passages).search(query, len(passages))}
    ranked = [{_text(hit.passage): hit.score for hit in reversed(ranking)} for ranking in rankings]
    score = fused([_column(scores, rows) for scores in (*ranked, by_words)])
    return [ScoredPassage(passages[row], float(score[row])) for row in np.argsort(-score, kind="stable")]


def _column(scores: dict[str, float], rows: dict[str, int]) -> NDArray[np.float32]:
    column = np.zeros(len(rows), dtype=np.float32)
    for text, score in scores.items():
        column[rows[text]] = score
    return column


def _balanced(found: Iterable[ScoredPassage], k: int) -> list[ScoredPassage]:
    """The first k, where what a kind has beyond half of them waits until the others were served."""
    taken: dict[SourceKind, int] = {}
    first: list[ScoredPassage] = []
    later: list[ScoredPassage] = []
    for hit in found:
        kind = hit.passage.source
        taken[kind] = taken.get(kind, 0) + 1
        (first if taken[kind] <= (k + 1) // 2 else later).append(hit)
    chosen = (first + later)[:k]
    return sorted(chosen, key=lambda hit: -hit.score)


def _text(passage: Passage) -> str:
    return " ".join(passage.text.split())
