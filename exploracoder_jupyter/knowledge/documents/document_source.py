"""Searches the passages of documents by their words; the index is cached by content.

A library's own README and guides are often the only place where a query language is described. Most of their sections
do not help with a task, so they are found only where they share words with the query, and few.
"""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import anyio.to_thread
import numpy as np

from exploracoder_jupyter.core.types import ApiDoc, Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.readers.reader_selection import parse_page
from exploracoder_jupyter.knowledge.documents.section_passages import page_passages
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, pack_arrays, unpack_arrays
from exploracoder_jupyter.text.lexical_index import LexicalIndex
from exploracoder_jupyter.text.tokenizer import tokens

_FORMAT = "2"
_MENTION = re.compile(r"([A-Za-z_][\w.]*)\(|`([A-Za-z_][\w.]*)")
_MAX_APIS = 8
_MOST_FOUND = 2
_LEAST_SHARED = 2
_LEAST_SHARE = 0.25
_USELESS = re.compile(
    r"\b(?:install|licen[cs]e|contribut|citation|citing|sponsor|changelog|badge|acknowledg|development|support|author"
    r"|roadmap|release)",
    re.IGNORECASE,
)


def unambiguous_names(apis: Iterable[ApiDoc]) -> dict[str, str]:
    """Map the last name of each API to its path, if one API of that name is nearer to the top level than all others."""
    paths: dict[str, list[str]] = {}
    for api in apis:
        paths.setdefault(api.name, []).append(api.path)
    nearest = {name: sorted(found, key=_depth)[:2] for name, found in paths.items()}
    return {name: found[0] for name, found in nearest.items() if len(set(map(_depth, found))) == len(found)}


def _depth(path: str) -> int:
    return path.count(".")


class DocumentSource:
    """Passages of documentation that is not part of the package. Satisfies `pipeline.ports.Source`."""

    kind: SourceKind = "documentation"

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        names: Mapping[str, str] | None = None,
        store: KnowledgeCache | None = None,
        shipped: Sequence[Passage] = (),
    ) -> None:
        """`names` maps last names to the paths of APIs, so that a passage can list the ones it mentions.

        `shipped`: passages of documents that the libraries ship; few of them are found, and only for a query that
        shares words with them.
        """
        self._shipped = DocumentSource(shipped, names=names, store=store) if shipped else None
        self._passages = tuple(passages)
        self._names = names or {}
        self._store = store
        self._index: LexicalIndex | None = None
        self._lock = threading.Lock()

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k passages that share words with the query, best first."""
        shipped = await self._shipped.search(query, k) if self._shipped else ()
        own: Sequence[ScoredPassage] = ()
        if self._passages:  # an abandoned search finishes indexing in its thread, for the next search
            own = await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)
        return [*own, *[hit for hit in shipped if _is_about(query, hit)][:_MOST_FOUND]]

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        with self._lock:
            self._index = self._index or self._open_index()
        scores = self._index.scores(query)
        order = [int(row) for row in np.argsort(-scores, kind="stable")[: max(k, 0)] if scores[row] > 0]
        return [ScoredPassage(self._with_apis(self._passages[row]), float(scores[row])) for row in order]

    def _with_apis(self, passage: Passage) -> Passage:
        mentions = (call or quoted for call, quoted in _MENTION.findall(passage.text))
        found = dict.fromkeys(
            self._names[name] for name in (one.rpartition(".")[2] for one in mentions) if name in self._names
        )
        return replace(passage, apis=passage.apis or tuple(found)[:_MAX_APIS])

    def _open_index(self) -> LexicalIndex:
        texts = [f"{passage.title}\n{passage.title}\n{passage.text}" for passage in self._passages]
        key = digest(_FORMAT, *texts)
        cached = self._store.get("passages", key) if self._store else None
        try:
            if cached:
                return LexicalIndex(unpack_arrays(cached))
        except (KeyError, ValueError, zipfile.BadZipFile):
            pass  # the cached index is corrupt: rebuild it
        index = LexicalIndex.build(texts)
        if self._store:
            self._store.put("passages", key, pack_arrays(index.arrays()))
        return index


def guide_passages(surface: Surface) -> Iterator[Passage]:
    """Yield the passages of the texts that a library ships, except for sections that do not describe its use."""
    for name, text in surface.guides:
        page = parse_page(File(name, text.encode("utf-8", "replace")))
        found = page_passages(f"{surface.info.titled}, {name}", page)
        yield from (passage for passage in found if not _USELESS.search(passage.title))


def _is_about(query: str, hit: ScoredPassage) -> bool:
    asked = set(tokens(query))
    shared = asked & set(tokens(f"{hit.passage.title} {hit.passage.text}"))
    return len(shared) >= max(_LEAST_SHARED, _LEAST_SHARE * len(asked))
