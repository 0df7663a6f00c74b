"""Combines rankings: weighted and scaled scores, reciprocal rank fusion, several queries, and diversity.

Within one library, a weighted sum of scores scaled to 0..1 for the query at hand finds more than reciprocal rank fusion
(measured, see docs/measured.md), and it preserves by how much the first results lead. Ranks are used where the scores
of different sources are not comparable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

LEXICAL_WEIGHT = 2.0
"""Weight of the words that query and API share, as a share of the words of the query."""
WORD_VECTOR_WEIGHT = 1.0
"""Weight of similarity by general word vectors; the most similar API counts 1."""
EMBEDDER_WEIGHT = 1.0
PRIOR_WEIGHT = 0.8
"""Weight of the prior probability that an API is wanted."""
SYNONYM_WEIGHT = 0.4
"""How much a synonym of a word counts; the word counts 1."""
NAMED_BONUS = 0.9
SPELLED_BONUS = 0.3
_RANK_CONSTANT = 60
MAX_SAME_NAME = 2
"""How many APIs of one name are listed before others get their turn."""


def scale_to_max(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide the scores by the highest one; returns them unchanged if none is positive."""
    most = scores.max(initial=0)
    return np.asarray(np.maximum(scores, 0) / most, dtype=np.float32) if most > 0 else scores


def rescale_positive(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rescale the positive scores to 0..1, for embedders that find everything similar.

    If all positive scores are equal, each becomes 1.
    """
    near = scores > 0
    lowest, highest = scores[near].min(initial=np.inf), scores.max(initial=0)
    width = highest - lowest
    return np.where(near, (scores - lowest) / width if width > 0 else 1, 0).astype(np.float32)


def fuse_ranks(scores: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the reciprocal rank fusion score of each row: the sum over indexes of 1 / (60 + its rank there)."""
    total = np.zeros(len(scores[0]), dtype=np.float32)
    for found in scores:
        total += np.where(found > 0, 1 / (_RANK_CONSTANT + _ranks(found)), 0)
    return total


def combine_queries(scores: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Combine each row's scores for several queries of one task. Scores are logarithms, so they are added.

    A row that serves one query and is also relevant to the others moves up in that query's ranking. Then the rankings
    take turns, so that no query is neglected.
    """
    level = np.stack([found - found.max(initial=-np.inf) for found in scores])
    shared = level.mean(axis=0)
    turn = np.stack([_ranks(own + shared) for own in level]).min(axis=0)
    return np.asarray(1 / turn + shared * 1e-6, dtype=np.float32)


def diversify(
    rows: Sequence[int],
    names: Sequence[str],
    k: int,
    *,
    is_duplicate: Callable[[int, int], bool] = lambda one, other: False,
    says_nothing: Callable[[int], bool] = lambda row: False,
) -> list[int]:
    """Return the first k rows, best first, moving further rows of the same name and duplicates to the end.

    A row comes after all others from each name's third on, if `is_duplicate` reports it for an earlier one, or if
    `says_nothing` reports that no text tells what it is for. Large libraries have one `mean` for each of ten classes;
    without this they crowd out everything else.
    """
    chosen: defaultdict[str, list[int]] = defaultdict(list)
    first: list[int] = []
    later: list[int] = []
    for row in rows:
        before = chosen[names[row]]
        repeats = len(before) >= MAX_SAME_NAME or any(is_duplicate(row, other) for other in before)
        if repeats or says_nothing(row):
            later.append(row)
            continue
        before.append(row)
        first.append(row)
        if len(first) == k:
            break
    return (first + later)[:k]


def share_places(groups: Sequence[Sequence[int]], k: int) -> list[int]:
    """Return k rows of these n groups, the first k / n of each; what a shorter group leaves goes to the others."""
    turns = (row for turn in zip_longest(*groups) for row in turn if row is not None)
    return list(islice(turns, k))


def _ranks(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks
