"""The built-in embedder of plain words: vectors that came with the package, so that nothing is fetched or fitted.

They were learned from the documentation of many libraries (`scripts/words.py`) and say that to delete, to remove and to
drop are much the same. A word that is not among them says nothing here; the other indexes know it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge.search.tokenizer import tokens

PATH = Path(__file__).with_name("words.npz")


def vector(text: str) -> NDArray[np.float32]:
    """The text's direction: the sum of its words, of length 1, or 0 where no word is known."""
    numbers, vectors, scales = _known()
    rows = [numbers[term] for term in tokens(text) if term in numbers]
    total = scales[rows] @ vectors[rows].astype(np.float32)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length if length else total, dtype=np.float32)


@cache
def _known() -> tuple[dict[str, int], NDArray[np.int8], NDArray[np.float32]]:
    with np.load(PATH, allow_pickle=False) as kept:
        words: list[str] = json.loads(kept["vocabulary"].tobytes())
        return {word: row for row, word in enumerate(words)}, kept["vectors"], kept["scales"]
