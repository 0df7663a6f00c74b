"""One ranking of several: reciprocal rank fusion, and variety among the first.

Raw scores of different indexes are not comparable, ranks are. A row that an index does not find gets nothing from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FLATNESS = 60
"""The usual constant of reciprocal rank fusion."""
NAMESAKES = 2
"""How many APIs of one name come before others get their turn."""


def fused(scores: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The fused score of each row: the sum over indexes of 1 / (60 + its rank there)."""
    total = np.zeros(len(scores[0]), dtype=np.float32)
    for found in scores:
        order = np.argsort(-found, kind="stable")
        ranks = np.empty(len(found), dtype=np.float32)
        ranks[order] = np.arange(1, len(found) + 1)
        total += np.where(found > 0, 1 / (_FLATNESS + ranks), 0)
    return total


def varied(rows: Sequence[int], names: Sequence[str], k: int) -> list[int]:
    """The first k rows, best first, where a name's third and later bearers wait until all others were served.

    Large libraries have one `mean` for each of ten classes; without this they crowd out everything else.
    """
    borne: Counter[str] = Counter()
    first: list[int] = []
    later: list[int] = []
    for row in rows:
        borne[names[row]] += 1
        (first if borne[names[row]] <= NAMESAKES else later).append(row)
        if len(first) == k:
            break
    return (first + later)[:k]
