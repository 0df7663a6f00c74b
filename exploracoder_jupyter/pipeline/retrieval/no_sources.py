"""The search of a run without sources: only the libraries' own documentation is used."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from exploracoder_jupyter.core.types import ScoredPassage, Snippet, SourceKind


class NoSources:
    """Finds nothing and stores nothing. Satisfies `ports.PassageSearch`."""

    kinds: frozenset[SourceKind] = frozenset()

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """Return nothing."""
        return ()

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store nothing."""

    async def forget(self, origins: Sequence[str]) -> None:
        """Drop nothing."""
