"""Looks up the APIs of a collection by name, for search."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.fallback_descriptions import NAME_PARTS
from exploracoder_jupyter.text.tokenizer import tokens

_MAX_WORDS = 4
_GRAMMAR = frozenset("a an and as at by for from if in into is it of on or that the this to with".split())  # noqa: SIM905
"""Words that no question does without; they spell no name."""


class ApiNames:
    """Maps names, aliases included, to rows."""

    def __init__(self, apis: Sequence[ApiDoc]) -> None:
        self.libraries = frozenset(api.library for api in apis)
        self.row_names = [api.name for api in apis]
        """The name of each row."""
        self._rows_by_name: defaultdict[str, list[int]] = defaultdict(list)
        for row, api in enumerate(apis):
            for name in indexed_text.api_names(api):
                self._rows_by_name[name].append(row)
        self._rows_by_words: defaultdict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(self.row_names):
            if len(parts := tokens(name)) > 1:
                self._rows_by_words[" ".join(parts[1:])].append(row)
            elif not parts:
                for word in NAME_PARTS.get(name, name.strip("_").lower()).split():
                    self._rows_by_words[word].append(row)
        self.terms = frozenset(term for name in self._rows_by_name for term in tokens(name))
        """The terms that occur in names."""

    def rows_named(self, names: Iterable[str]) -> NDArray[np.float32]:
        """Return 1 for each row that has one of the names, 0 for the others."""
        return self._mark_rows(self._rows_by_name.get(name, []) for name in names)

    def rows_spelled_in(self, query: str) -> NDArray[np.float32]:
        """Return 1 for each row whose name the query spells in words.

        "The shortest paths of a graph" spells `shortest_path`, "a where condition" spells `where`, which is not a
        term of the index, and "convert" spells `to`.
        """
        terms = tokens(query)
        spans = ((at, at + length) for at in range(len(terms)) for length in range(2, _MAX_WORDS + 1))
        spelled = [" ".join(terms[start:end]) for start, end in spans]
        words = {*re.findall(r"\w+", query.lower())} - _GRAMMAR
        return self._mark_rows(self._rows_by_words.get(name, []) for name in (*spelled, *words))

    def _mark_rows(self, groups: Iterable[Sequence[int]]) -> NDArray[np.float32]:
        found = np.zeros(len(self.row_names), dtype=np.float32)
        for rows in groups:
            found[rows] = 1
        return found
