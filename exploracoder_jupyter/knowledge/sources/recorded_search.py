"""Replays the passages that a recorded run found for the same queries; nothing is searched, stored or deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet, SourceKind


class RecordedSearch:
    """Returns the passages of recorded searches. Satisfies `ports.PassageSearch`."""

    def __init__(self, searches: Sequence[KnowledgeSearched], *, online: bool = False) -> None:
        """`online`: whether that run searched the web, so that its plan marks what to search for."""
        self._found: dict[str, list[Passage]] = {}
        for search in searches:
            self._found.setdefault(search.query, []).extend(search.passages)
        kinds = {passage.source for found in self._found.values() for passage in found}
        self.kinds: frozenset[SourceKind] = frozenset(kinds | ({"web"} if online else set()))

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """Return what this query found, in the recorded order."""
        found = [one for one in self._found.get(query, ()) if among is None or one.source in among]
        return [ScoredPassage(passage, -float(place)) for place, passage in enumerate(found[:k])]

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store nothing."""

    async def forget(self, origins: Sequence[str]) -> None:
        """Delete nothing."""
