"""An in-memory index of passages, by words and on request by meaning, with the built-in word vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exploracoder_jupyter.core.types import Passage, ScoredPassage
from exploracoder_jupyter.knowledge.search import word_embedder
from exploracoder_jupyter.knowledge.search.score_combination import scale_to_max
from exploracoder_jupyter.text.lexical_index import Field, LexicalIndex
from exploracoder_jupyter.text.tokenizer import tokens

_MIN_SHARED_WORDS = 2
"""Words that passage and query must share (or all, if the query has fewer): a single one can be a coincidence."""
_MIN_COSINE = 0.65
"""The minimum cosine at which a passage is relevant without sharing words."""
_TITLE_WEIGHT, _APIS_WEIGHT = 3.0, 2.0
_MEANING_WEIGHT = 0.5
"""Weight of similarity by meaning, relative to words."""


class PassageIndex:
    """An index of passages in memory; indexing hundreds of them takes milliseconds, so it is not stored on disk."""

    def __init__(self, passages: Sequence[Passage], *, by_meaning: bool = False) -> None:
        self.passages = tuple(passages)
        texts = ["\n".join([one.title, *one.apis, one.text]) for one in passages]
        self._words = [frozenset(tokens(text)) for text in texts]
        self._lexical = LexicalIndex.of(
            [
                Field([one.title for one in passages], _TITLE_WEIGHT),
                Field(["\n".join(one.apis) for one in passages], _APIS_WEIGHT),
                Field([one.text for one in passages]),
            ]
        )
        self._vectors = [word_embedder.embed_text(text) for text in texts] if by_meaning else []

    def search(self, query: str, k: int) -> list[ScoredPassage]:
        """Return at most k passages that share words or meaning with the query, best first."""
        words = frozenset(tokens(query))
        enough = min(_MIN_SHARED_WORDS, len(words))
        cosines = np.zeros(len(self.passages), dtype=np.float32)
        if self._vectors:
            cosines = np.asarray(np.stack(self._vectors) @ word_embedder.embed_text(query), dtype=np.float32)
        scores = scale_to_max(self._lexical.scores(query)) + _MEANING_WEIGHT * scale_to_max(cosines)
        order = [int(row) for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        relevant = [row for row in order if len(words & self._words[row]) >= enough or cosines[row] >= _MIN_COSINE]
        return [ScoredPassage(self.passages[row], float(scores[row])) for row in relevant[: max(k, 0)]]
