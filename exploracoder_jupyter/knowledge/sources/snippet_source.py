"""Code that ran in earlier explorations as a source that can be searched, extended and pruned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio.to_thread

from exploracoder_jupyter.core.configuration.endpoint_settings import Sharing
from exploracoder_jupyter.core.secrets.secret_literals import Clean, find_secret_literals, redact
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet, SourceKind
from exploracoder_jupyter.knowledge.sources.ranked_passages import PassageIndex
from exploracoder_jupyter.knowledge.sources.snippet_store import SnippetStore, StoredSnippet

_MAX_CODE_CHARS = 20_000
_MAX_TEXT_CHARS = 2_000


class SnippetSource:
    """The snippets of these library versions, by import name. Satisfies `Source`.

    `sharing` limits what a model may receive: below `values`, output that showed values is neither stored nor returned.
    `clean` removes secrets from what is stored.
    """

    kind: SourceKind = "snippet"

    def __init__(
        self,
        store: SnippetStore,
        versions: Mapping[str, str],
        *,
        sharing: Sharing = "values",
        clean: Clean = lambda text: text,
    ) -> None:
        self._store = store
        self._versions = versions
        self._sharing = sharing
        self._clean = clean
        self._ranked = PassageIndex(())

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k snippets that may help, best first, and count them as used."""
        return await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store code that ran."""
        wanted = [self._clean_snippet(one) for one in snippets if one.code.strip() and len(one.code) <= _MAX_CODE_CHARS]
        await anyio.to_thread.run_sync(self._store.add, wanted, self._sharing)

    async def forget(self, origins: Sequence[str]) -> None:
        """Delete the snippets of passages with these origins."""
        found = (re.match(r"snippet (\w+) ", origin) for origin in origins)
        await anyio.to_thread.run_sync(self._store.delete, [match[1] for match in found if match])

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        passages = tuple(_passage(kept, self._sharing) for kept in self._store.of(self._versions, self._sharing))
        if passages != self._ranked.passages:
            self._ranked = PassageIndex(passages, by_meaning=True)
        found = self._ranked.search(query, k)
        self._store.mark_used([hit.passage.origin.split()[1] for hit in found])
        return found

    def _clean_snippet(self, snippet: Snippet) -> Snippet:
        literals = find_secret_literals(snippet.code)
        return replace(
            snippet,
            title=redact(snippet.title, self._clean, literals)[:_MAX_TEXT_CHARS],
            code=redact(snippet.code, self._clean, literals),
            observed=redact(snippet.observed, self._clean, literals)[:_MAX_TEXT_CHARS]
            if self._sharing == "values"
            else "",
        )


def _passage(kept: StoredSnippet, sharing: Sharing) -> Passage:
    one = kept.snippet
    shown = "\n".join(f"# {line}" for line in one.observed.splitlines()) if sharing == "values" else ""
    return Passage(
        source="snippet",
        title=one.title,
        text=f"{one.code.rstrip()}\n# It showed:\n{shown}" if shown else one.code,
        origin=f"snippet {kept.id} of {one.library} {one.version}, Python {one.python}",
        apis=one.apis,
        code=True,
        version=one.version,
    )
