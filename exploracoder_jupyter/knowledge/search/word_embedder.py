"""The built-in word embedder: vectors shipped with the package, so that nothing is downloaded or fitted.

They were distilled from a sentence embedding model, all-MiniLM-L6-v2 (Apache-2.0; `scripts/train_word_vectors.py`), and
encode, for example, that delete, remove and drop mean nearly the same. Words that have no vector are left to the other
indexes.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.text.tokenizer import tokens

PATH = Path(__file__).with_name("words.npz")
UNRELATED_COSINE: Final = 0.15
"""Unrelated texts have cosines up to about this value, the median within a library."""


def embed_text(text: str) -> NDArray[np.float32]:
    """Return the text's direction: the sum of its word vectors, of length 1, or 0 if no word is known."""
    numbers, vectors, scales = _load_vectors()
    rows = [numbers[term] for term in tokens(text) if term in numbers]
    total = scales[rows] @ vectors[rows].astype(np.float32)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length if length else total, dtype=np.float32)


@cache
def _load_vectors() -> tuple[dict[str, int], NDArray[np.int8], NDArray[np.float32]]:
    with np.load(PATH, allow_pickle=False) as arrays:
        words: list[str] = json.loads(arrays["vocabulary"].tobytes())
        return {word: row for row, word in enumerate(words)}, arrays["vectors"], arrays["scales"]
