"""Chooses the sample from which the statistics of large data are computed, and words that it is one."""

from __future__ import annotations

from typing import Final

_MAX_SAMPLE_BYTES: Final = 10_000_000
"""Maximum bytes of a sample: taking one may copy it, so fewer of long values are taken."""
_GOLDEN: Final = 0.6180339887498949


def sample_positions(count: int, limit: int) -> list[int] | None:
    """Return positions of a sample, spread evenly but without a period that the data could share; None: take all."""
    if count <= limit:
        return None
    return [int((position + position * _GOLDEN % 1) * count / limit) for position in range(limit)]


def sample_size(item_bytes: float, limit: float = float("inf")) -> int:
    """Return how many values of `item_bytes` each a sample has: `limit`, or fewer where they are large."""
    return max(int(min(limit, _MAX_SAMPLE_BYTES / max(item_bytes, 1))), 1)


def sample_note(taken: int, count: int) -> str:
    """Return a note of how many values were sampled, or an empty string if all were."""
    return f"; sampled {taken:,} of {count:,}" if taken < count else ""
