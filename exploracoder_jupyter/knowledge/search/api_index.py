"""The search index of a collection of APIs: words and meaning, added up with what is likely at all.

By words (BM25F over fields), by plain words that mean alike anywhere, and by what goes together in this documentation
(LSA); with an embedder its vectors take the place of the last two.

Built once for a combination of library versions; what `arrays` gives is all that is kept, and `Index.reopen` needs no
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc, ScoredApi
from exploracoder_jupyter.knowledge.search import indexed_text, word_embedder
from exploracoder_jupyter.knowledge.search.api_names import Names
from exploracoder_jupyter.knowledge.search.api_prior import prior
from exploracoder_jupyter.knowledge.search.dense_index import Dense
from exploracoder_jupyter.knowledge.search.embedding_cache import Meaning
from exploracoder_jupyter.knowledge.search.latent_embedder import Latent
from exploracoder_jupyter.knowledge.search.lexical_index import Arrays, Lexical
from exploracoder_jupyter.knowledge.search.query_terms import matter, named, subject
from exploracoder_jupyter.knowledge.search.rank_fusion import scaled, spread, together, varied
from exploracoder_jupyter.knowledge.search.tokenizer import tokens

FORMAT = 3
"""Version of what is kept and of how texts are made; a new one makes kept indexes void."""

_DEPTH = 1000
"""How many rows the dense index is asked for."""
_ALIKE = 0.5
"""What nearness by plain words counts, where the best score by the very words counts 1."""
_LATENT = 0.2
"""The same for nearness by what goes together in this documentation."""
_NEAR_TRAINED = 1.0
"""The same for the vectors of a trained model."""
_NAMED = 0.9
"""What it counts that the query names the API outright."""
_SPELLED = 0.3
"""The same where it spells the name in words."""
_SAME = 0.5
"""So large a part of their words two first sentences share that say the same."""


@dataclass(frozen=True, slots=True)
class Index:
    """Searches `apis`; rows of every part are numbered as they are."""

    apis: Sequence[ApiDoc]
    names: Names
    lexical: Lexical
    plain: Dense
    latent: Latent
    dense: Dense
    prior: NDArray[np.float32]

    @classmethod
    def build(cls, apis: Sequence[ApiDoc]) -> Index:
        """Index these APIs with the built-in embedder. Takes seconds for thousands of them."""
        heads = [indexed_text.head(api) for api in apis]
        latent = Latent.fit(heads)
        return cls(
            apis,
            Names(apis),
            Lexical.of(indexed_text.fields(apis)),
            _vectors(heads, word_embedder.vector),
            latent,
            _vectors(heads, latent.vector),
            prior(apis),
        )

    @classmethod
    def reopen(cls, apis: Sequence[ApiDoc], arrays: Arrays) -> Index:
        """The index that gave these arrays. Raises KeyError or ValueError when they are not of one."""
        parts = {part: _within(arrays, part) for part in ("lexical", "latent")}
        if not len(arrays["plain"]) == len(arrays["vectors"]) == len(arrays["prior"]) == len(apis):
            raise ValueError("the kept index is not of these APIs")
        plain, vectors, wanted = (arrays[name].astype(np.float32) for name in ("plain", "vectors", "prior"))
        lexical, latent = Lexical(parts["lexical"]), Latent(parts["latent"])
        return cls(apis, Names(apis), lexical, Dense(plain), latent, Dense(vectors), wanted)

    def arrays(self) -> Arrays:
        """What `reopen` makes this index of again."""
        vectors = {"plain": self.plain.vectors, "vectors": self.dense.vectors}
        kept: Arrays = {"prior": self.prior, **{name: rows.astype(np.float16) for name, rows in vectors.items()}}
        kept |= {f"lexical.{name}": array for name, array in self.lexical.arrays().items()}
        kept |= {f"latent.{name}": array for name, array in self.latent.arrays().items()}
        return kept

    async def search(self, query: str, k: int, *, meaning: Meaning | None = None) -> list[ScoredApi]:
        """The k APIs nearest to the query, best first. `meaning`: vectors to use in place of the built-in ones.

        Raises:
            EndpointError: from the embedder of `meaning`.
        """
        match = await self._match(query, meaning)
        return self._best(np.where(match > 0, np.exp(match + self.prior), 0), k)

    async def search_together(
        self, queries: Sequence[str], k: int, *, meaning: Meaning | None = None
    ) -> list[ScoredApi]:
        """The k APIs that serve several queries of one task best, best first; see `search`."""
        matches = [match for query in queries if (match := await self._match(query, meaning)).any()]
        if not matches:
            return []
        worth = together([match + self.prior for match in matches])
        return self._best(np.where(np.any(matches, axis=0), worth, 0), k)

    async def _match(self, query: str, meaning: Meaning | None) -> NDArray[np.float32]:
        """How well each row matches the query; 0 where nothing makes it near."""
        about = subject(query, self.names.libraries)
        asked = matter(about, self.names.words)
        said = scaled(self.lexical.scores(asked))
        if meaning:
            near = _NEAR_TRAINED * spread(await meaning.scores(about, most=_DEPTH))
        else:
            alike = self.plain.scores(word_embedder.vector(asked), most=_DEPTH)
            latent = self.dense.scores(self.latent.vector(asked), most=_DEPTH)
            near = _ALIKE * scaled(alike) + _LATENT * scaled(latent)
        called = _NAMED * self.names.bearers(named(query)) + _SPELLED * self.names.spelled(about)
        return np.asarray(said + near + called, dtype=np.float32)

    def _best(self, score: NDArray[np.float32], k: int) -> list[ScoredApi]:
        order = np.argsort(-score, kind="stable")[: np.count_nonzero(score > 0)].tolist()
        rows = varied(order, self.names.own, max(k, 0), alike=self._alike)
        return [ScoredApi(self.apis[row], float(score[row])) for row in rows]

    def _alike(self, one: int, other: int) -> bool:
        """Whether two rows say the same: `mean` of two classes, but not `replace` of values and of text."""
        first, second = (frozenset(tokens(self.apis[row].summary)) for row in (one, other))
        return len(first & second) >= _SAME * len(first | second)


def _vectors(heads: Sequence[str], vector: Callable[[str], NDArray[np.float32]]) -> Dense:
    """Rounded as they are kept, so that a reopened index gives the same order."""
    rows = np.stack([vector(head) for head in heads]) if heads else np.zeros((0, 1), dtype=np.float32)
    return Dense(rows.astype(np.float16).astype(np.float32))


def _within(arrays: Arrays, part: str) -> Arrays:
    return {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{part}.")}
