"""Recognizes samples that share text with the problems of a benchmark, so that no model is trained on its tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.errors import UsageError

_TOKEN = re.compile(r"\w+|[^\w\s]")
_RUN: Final = 13
"""Tokens in a row that a sample and a problem must share, as is usual for this check."""


class BenchmarkOverlap:
    """The token sequences of the problems."""

    def __init__(self, texts: Iterable[str]) -> None:
        """`texts` are prompts, tasks, reference solutions and tests."""
        self._known = frozenset(run for text in texts for run in _runs(text))

    def __contains__(self, text: str) -> bool:
        return bool(self._known) and not self._known.isdisjoint(_runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    found = _TOKEN.findall(text.lower())
    return zip(*(found[start:] for start in range(_RUN)), strict=False)


def read_json_texts(path: Path) -> Iterator[str]:
    """Yield all texts in the lines of a JSON lines file, such as the problems of an evaluation."""
    try:
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            if line.strip():
                yield from _texts(json.loads(line))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON lines: {error}.", remedy="Name a problem file.") from None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
