"""A soup without sources, used when only the libraries' own documentation is searched."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from exploracoder_jupyter.core.types import ScoredPassage, Snippet, SourceKind


class NullSoup:
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
