"""Passages, searchable by their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exploracoder_jupyter.knowledge.lexical import Lexical
from exploracoder_jupyter.knowledge.tokens import tokens
from exploracoder_jupyter.types import Passage, ScoredPassage

_SHARED = 2
"""Words that passage and query must share, where the query has as many: one alone is chance."""


class Ranked:
    """An index of passages in memory: hundreds of them take milliseconds, so none is kept on disk."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = tuple(passages)
        said = [told(passage) for passage in passages]
        self._words = [frozenset(tokens(text)) for text in said]
        self._lexical = Lexical.build(said)

    def search(self, query: str, k: int) -> list[ScoredPassage]:
        """At most k passages that share words with the query, best first."""
        asked = frozenset(tokens(query))
        enough = min(_SHARED, len(asked))
        scores = self._lexical.scores(query)
        order = [int(row) for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        near = [row for row in order if len(asked & self._words[row]) >= enough]
        return [ScoredPassage(self.passages[row], float(scores[row])) for row in near[: max(k, 0)]]


def told(passage: Passage) -> str:
    """What is searched of a passage: its title twice, as it says most, the APIs, the text."""
    return "\n".join([passage.title, passage.title, *passage.apis, passage.text])
