"""Passages, searchable by their words, and by meaning where there is a built-in embedder of the library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import Passage, ScoredPassage
from exploracoder_jupyter.knowledge.search.latent_embedder import Latent
from exploracoder_jupyter.knowledge.search.lexical_index import Field, Lexical
from exploracoder_jupyter.knowledge.search.rank_fusion import scaled
from exploracoder_jupyter.knowledge.search.tokenizer import tokens

_SHARED = 2
"""Words that passage and query must share, where the query has as many: one alone is chance."""
_NEAR = 0.25
"""A cosine from which on a passage is near without sharing words."""
_TITLE, _APIS = 3.0, 2.0
"""What a word in the title and in the paths of the APIs is worth beside one in the text."""
_MEANING = 0.5
"""What meaning is worth beside words."""


class Ranked:
    """An index of passages in memory: hundreds of them take milliseconds, so none is kept on disk."""

    def __init__(self, passages: Sequence[Passage], latent: Latent | None = None) -> None:
        self.passages = tuple(passages)
        told = ["\n".join([one.title, *one.apis, one.text]) for one in passages]
        self._words = [frozenset(tokens(text)) for text in told]
        self._lexical = Lexical.of(
            [
                Field([one.title for one in passages], _TITLE),
                Field(["\n".join(one.apis) for one in passages], _APIS),
                Field([one.text for one in passages]),
            ]
        )
        self._latent = latent
        self._vectors = [latent.vector(text) for text in told] if latent else []

    def search(self, query: str, k: int) -> list[ScoredPassage]:
        """At most k passages that share words or meaning with the query, best first."""
        asked = frozenset(tokens(query))
        enough = min(_SHARED, len(asked))
        nearness = self._nearness(query)
        scores = scaled(self._lexical.scores(query)) + _MEANING * scaled(nearness)
        order = [int(row) for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        near = [row for row in order if len(asked & self._words[row]) >= enough or nearness[row] >= _NEAR]
        return [ScoredPassage(self.passages[row], float(scores[row])) for row in near[: max(k, 0)]]

    def _nearness(self, query: str) -> NDArray[np.float32]:
        """The cosine of each passage; 0 where there is no embedder."""
        if self._latent is None or not self._vectors:
            return np.zeros(len(self.passages), dtype=np.float32)
        return np.asarray(np.stack(self._vectors) @ self._latent.vector(query), dtype=np.float32)
