"""One ranking of several: scores on one scale, reciprocal ranks, several queries taking turns, and variety.

Within one library a weighted sum of scores, each brought to 0..1 for the query at hand, finds more than the sum of
reciprocal ranks (measured, see docs/measured.md); it also keeps how far ahead the first ones are. Where the scores of
sources say nothing beside each other, ranks are what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_FLATNESS = 60
"""The usual constant of reciprocal rank fusion."""
NAMESAKES = 2
"""How many APIs of one name come before others get their turn."""


def scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores as shares of the highest; where none is above 0, as they are."""
    most = scores.max(initial=0)
    return np.asarray(np.maximum(scores, 0) / most, dtype=np.float32) if most > 0 else scores


def spread(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores above 0, from 0 for the lowest of them to 1 for the highest: for embedders that find everything near.

    Where all are alike, each is 1.
    """
    near = scores > 0
    lowest, highest = scores[near].min(initial=np.inf), scores.max(initial=0)
    width = highest - lowest
    return np.where(near, (scores - lowest) / width if width > 0 else 1, 0).astype(np.float32)


def fused(scores: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The fused score of each row: the sum over indexes of 1 / (60 + its rank there)."""
    total = np.zeros(len(scores[0]), dtype=np.float32)
    for found in scores:
        total += np.where(found > 0, 1 / (_FLATNESS + _ranks(found)), 0)
    return total


def together(scores: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """What each row is worth to several queries of one task, from what it is worth to each (logarithms, so that they
    add up).

    What serves one query and is near to the others too moves up in that query's ranking; then the rankings take
    turns, so that none of the queries goes without.
    """
    level = np.stack([found - found.max(initial=-np.inf) for found in scores])
    shared = level.mean(axis=0)
    turn = np.stack([_ranks(own + shared) for own in level]).min(axis=0)
    return np.asarray(1 / turn + shared * 1e-6, dtype=np.float32)


def varied(
    rows: Sequence[int], names: Sequence[str], k: int, *, alike: Callable[[int, int], bool] = lambda one, other: False
) -> list[int]:
    """The first k rows, best first, where a name's third and later bearers wait until all others were served, and
    those that are `alike` to one before.

    Large libraries have one `mean` for each of ten classes; without this they crowd out everything else.
    """
    borne: defaultdict[str, list[int]] = defaultdict(list)
    first: list[int] = []
    later: list[int] = []
    for row in rows:
        before = borne[names[row]]
        if len(before) >= NAMESAKES or any(alike(row, other) for other in before):
            later.append(row)
            continue
        before.append(row)
        first.append(row)
        if len(first) == k:
            break
    return (first + later)[:k]


def _ranks(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rank of each row, 1 for the highest."""
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks
