"""Recognizes samples that share text with the problems of a benchmark, so that no model is trained on its tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN = re.compile(r"\w+|[^\w\s]")
_RUN: Final = 13
"""Tokens in a row that a sample and a problem must share, as is usual for this check."""


@dataclass(frozen=True, slots=True)
class BenchmarkOverlap:
    """The token sequences of the problems."""

    known: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> BenchmarkOverlap:
        """Read the problems' texts: prompts, tasks, reference solutions and tests."""
        return cls(frozenset(run for text in texts for run in _runs(text)))

    def __contains__(self, text: str) -> bool:
        """Whether the text shares a sequence with a problem."""
        return bool(self.known) and any(run in self.known for run in _runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    found = _TOKEN.findall(text.lower())
    return zip(*(found[start:] for start in range(_RUN)), strict=False)
