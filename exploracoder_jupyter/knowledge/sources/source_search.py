"""Searches all sources of a run together (ARKS, section 2), the user's own files among them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.secrets.redaction import Clean, find_secret_literals, redact
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet, SourceKind
from exploracoder_jupyter.knowledge.search.api_index import fuse_ranks
from exploracoder_jupyter.knowledge.sources.snippets import PassageIndex, SnippetSource
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.text.files import Limits, TextFile, iter_files, read_file, split_file

# Searches all sources of a run together: the knowledge soup (ARKS, section 2.1).
#
# The scores of different sources are not comparable, so their ranks are fused. Every source has a best hit, however
# irrelevant to the query, so all hits are also ranked together by their words. A source that fails or is slow
# contributes nothing.

_TIMEOUTS: dict[SourceKind, float] = {"web": 20.0}
_DEFAULT_TIMEOUT = 2.0

_NAMES: dict[SourceKind, str] = {
    "documentation": "the documentation",
    "snippet": "the stored snippets",
    "web": "the web",
    "workspace": "your files",
}


class SourceSearch:
    """Implements `pipeline.ports.PassageSearch`; `kept` is the source that snippets are added to and deleted from."""

    def __init__(
        self,
        sources: Sequence[Source] = (),
        *,
        kept: SnippetSource | None = None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._sources: tuple[Source, ...] = (*sources, kept) if kept else tuple(sources)
        self.kinds = frozenset(source.kind for source in self._sources)
        self._kept = kept
        self._say = say
        self._warned: set[SourceKind] = set()

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """Return the k passages most relevant to the query, best first, from sources of these kinds (None: all)."""
        sources = [source for source in self._sources if among is None or source.kind in among]
        if k < 1 or not query.strip():
            return ()
        rankings: list[Sequence[ScoredPassage]] = [() for _ in sources]

        async def ask(at: int) -> None:
            rankings[at] = await self._search_source(sources[at], query, k)

        async with anyio.create_task_group() as group:
            for at in range(len(sources)):
                group.start_soon(ask, at)
        return _balance(_fuse_rankings(query, rankings), k)

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store code that ran for later tasks, if a snippet store is configured."""
        if self._kept:
            await self._kept.learn(snippets)

    async def forget(self, origins: Sequence[str]) -> None:
        """Delete snippets that no longer run, identified by the origin of their passages."""
        if self._kept:
            await self._kept.forget(origins)

    async def _search_source(self, source: Source, query: str, k: int) -> Sequence[ScoredPassage]:
        seconds = scale_limit(_TIMEOUTS.get(source.kind, _DEFAULT_TIMEOUT))
        try:
            with anyio.fail_after(seconds):
                return (await source.search(query, k))[:k]
        except TimeoutError:
            self._warn_once(source.kind, f"timed out after {seconds:g} s; continuing without it.")
        except Exception as error:  # the run continues without a source, whatever is wrong with it
            why = error.message if isinstance(error, ExploraError) else type(error).__name__
            self._warn_once(source.kind, f"failed: {why.rstrip('.')}.")
        return ()

    def _warn_once(self, kind: SourceKind, problem: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._say(f"Searching {_NAMES[kind]} {problem}")


def _fuse_rankings(query: str, rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    pool: dict[str, Passage] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        pool.setdefault(_normalize_text(hit.passage), hit.passage)
    if not pool:
        return []
    rows = {text: row for row, text in enumerate(pool)}
    passages = tuple(pool.values())
    columns = []
    for ranking in (*rankings, PassageIndex(passages).search(query, len(passages))):
        columns.append(np.zeros(len(rows), dtype=np.float32))
        for hit in reversed(ranking):
            columns[-1][rows[_normalize_text(hit.passage)]] = hit.score
    score = fuse_ranks(columns)
    return [ScoredPassage(passages[row], float(score[row])) for row in np.argsort(-score, kind="stable")]


def _balance(found: Iterable[ScoredPassage], k: int) -> list[ScoredPassage]:
    """Return the first k hits, moving those of a source beyond half of k behind the hits of the others."""
    taken: dict[SourceKind, int] = {}
    first: list[ScoredPassage] = []
    later: list[ScoredPassage] = []
    for hit in found:
        kind = hit.passage.source
        taken[kind] = taken.get(kind, 0) + 1
        (first if taken[kind] <= (k + 1) // 2 else later).append(hit)
    chosen = (first + later)[:k]
    return sorted(chosen, key=lambda hit: -hit.score)


def _normalize_text(passage: Passage) -> str:
    return " ".join(passage.text.split())


class RecordedSearch:
    """Returns the passages that a recorded run found for the same queries. Satisfies `ports.PassageSearch`."""

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


# The user's own notebook and the files next to it as a source.


class WorkspaceSource:
    """Code cells of the notebook, and the Python, Markdown and notebook files of the folder. Satisfies `Source`.

    The files are read once, at the first search. `clean` removes secrets from them.
    """

    kind: SourceKind = "workspace"

    def __init__(
        self,
        folder: Path,
        notebook: Path | None = None,
        *,
        clean: Clean = lambda text: text,
    ) -> None:
        self._folder = folder
        self._notebook = notebook
        self._clean = clean
        self._ranked: PassageIndex | None = None
        self._reading = threading.Lock()

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k chunks of the files that share words with the query, best first."""
        # An abandoned search finishes reading in its thread, for the next search.
        return await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        with self._reading:
            if self._ranked is None:
                self._ranked = PassageIndex(list(self._passages()))
        return self._ranked.search(query, k)

    def _passages(self) -> Iterator[Passage]:
        seen: set[str] = set()
        text = read_file(self._notebook, Limits()) if self._notebook else None
        own = [TextFile(self._notebook.name, text)] if self._notebook and text is not None else []
        others = (file for file in iter_files(self._folder, Limits()) if self._folder / file.path != self._notebook)
        for file in chain(own, others):
            literals = {} if file.path.endswith(".ipynb") else find_secret_literals(file.text)
            for chunk in split_file(file.path, file.text):
                secret = {**literals, **find_secret_literals(chunk.text), **find_secret_literals(chunk.title)}
                text = redact(chunk.text, self._clean, secret)
                if text not in seen:
                    seen.add(text)
                    yield Passage(
                        source="workspace",
                        title=redact(chunk.title, self._clean, secret) or file.path,
                        text=text,
                        origin=f"{file.path}, {chunk.place}",
                        code=chunk.code,
                    )
