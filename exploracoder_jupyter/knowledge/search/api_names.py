"""The names of a collection of APIs, as a search needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.tokenizer import tokens

_LONGEST = 4
"""Words of the longest name that a query is searched for."""


class Names:
    """Which rows bear which name; an alias is a name as well."""

    def __init__(self, apis: Sequence[ApiDoc]) -> None:
        self.libraries = frozenset(api.library for api in apis)
        self.own = [api.name for api in apis]
        """The name of each row."""
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, api in enumerate(apis):
            for name in indexed_text.names(api):
                self._rows[name].append(row)
        self._spelled: defaultdict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(self.own):
            if len(parts := tokens(name)) > 1:
                self._spelled[" ".join(parts[1:])].append(row)
        self.words = frozenset(term for name in self._rows for term in tokens(name))
        """The terms that names are made of."""

    def bearers(self, names: Iterable[str]) -> NDArray[np.float32]:
        """1 for each row that has one of the names, 0 for the others."""
        return self._marked(self._rows.get(name, []) for name in names)

    def spelled(self, query: str) -> NDArray[np.float32]:
        """1 for each row whose name the query spells in words: `shortest_path` in "the shortest paths of a graph"."""
        terms = tokens(query)
        spans = ((at, at + length) for at in range(len(terms)) for length in range(2, _LONGEST + 1))
        return self._marked(self._spelled.get(" ".join(terms[start:end]), []) for start, end in spans)

    def _marked(self, groups: Iterable[Sequence[int]]) -> NDArray[np.float32]:
        found = np.zeros(len(self.own), dtype=np.float32)
        for rows in groups:
            found[rows] = 1
        return found
