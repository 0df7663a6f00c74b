"""The passages of documents as a source of the soup: searched by their words, the index kept by their content."""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import anyio.to_thread
import numpy as np

from exploracoder_jupyter.core.types import ApiDoc, Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.knowledge.knowledge_cache import Store, digest, pack, unpack
from exploracoder_jupyter.knowledge.search.lexical_index import Lexical

_FORMAT = "1"
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\(|`([A-Za-z_][\w.]*)")
_MOST_APIS = 8


def plain_names(apis: Iterable[ApiDoc]) -> dict[str, str]:
    """The paths of APIs by their last names, where one of that name is nearer to the top than all others."""
    paths: dict[str, list[str]] = {}
    for api in apis:
        paths.setdefault(api.name, []).append(api.path)
    nearest = {name: sorted(found, key=_depth)[:2] for name, found in paths.items()}
    return {name: found[0] for name, found in nearest.items() if len(set(map(_depth, found))) == len(found)}


def _depth(path: str) -> int:
    return path.count(".")


class DocumentSource:
    """Passages of documentation that is not in the package. Satisfies `pipeline.ports.Source`."""

    kind: SourceKind = "documentation"

    def __init__(
        self, passages: Sequence[Passage], *, names: Mapping[str, str] | None = None, store: Store | None = None
    ) -> None:
        """`names`: the paths of APIs by their last names, so that a passage can say which ones it speaks of."""
        self._passages = tuple(passages)
        self._names = names or {}
        self._store = store
        self._index: Lexical | None = None
        self._making = threading.Lock()

    @property
    def passages(self) -> Sequence[Passage]:
        """Everything that is searched."""
        return self._passages

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """At most k passages that share words with the query, best first."""
        # A search that is given up leaves the indexing to its end, for the next one.
        return await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        with self._making:
            self._index = self._index or self._opened()
        scores = self._index.scores(query)
        order = [int(row) for row in np.argsort(-scores, kind="stable")[: max(k, 0)] if scores[row] > 0]
        return [ScoredPassage(self._about(self._passages[row]), float(scores[row])) for row in order]

    def _about(self, passage: Passage) -> Passage:
        """The passage with the APIs that it mentions."""
        said = (call or quoted for call, quoted in _CALLED.findall(passage.text))
        found = dict.fromkeys(
            self._names[name] for name in (one.rpartition(".")[2] for one in said) if name in self._names
        )
        return replace(passage, apis=passage.apis or tuple(found)[:_MOST_APIS])

    def _opened(self) -> Lexical:
        told = [f"{passage.title}\n{passage.title}\n{passage.text}" for passage in self._passages]
        key = digest(_FORMAT, *told)
        kept = self._store.get("passages", key) if self._store else None
        try:
            if kept:
                return Lexical(unpack(kept))
        except (KeyError, ValueError, zipfile.BadZipFile):
            pass  # what was kept is broken: made anew
        made = Lexical.build(told)
        if self._store:
            self._store.put("passages", key, pack(made.arrays()))
        return made
