"""The search index of a collection of APIs: lexical and dense scores, added to a prior.

Two scores are combined: BM25F over fields, and similarity of general word vectors, which an external embedder replaces.

The index is built once for each combination of library versions. Only `arrays` is stored; `Index.reopen` needs no
fitting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc, ScoredApi
from exploracoder_jupyter.knowledge.search import indexed_text, score_combination, word_embedder
from exploracoder_jupyter.knowledge.search.api_prior import prior
from exploracoder_jupyter.knowledge.search.dense_index import DenseIndex, stack_rows
from exploracoder_jupyter.knowledge.search.embedding_cache import ApiEmbeddings
from exploracoder_jupyter.knowledge.search.fallback_descriptions import borrowed_texts, own_descriptions
from exploracoder_jupyter.knowledge.search.name_lookup import ApiNames
from exploracoder_jupyter.knowledge.search.query_terms import (
    drop_filler_words,
    drop_library_names,
    find_named_apis,
    replace_adverbs,
    synonyms,
)
from exploracoder_jupyter.knowledge.search.score_combination import (
    combine_queries,
    diversify,
    rescale_positive,
    scale_to_max,
    share_places,
)
from exploracoder_jupyter.text.lexical_index import Arrays, Field, LexicalIndex
from exploracoder_jupyter.text.tokenizer import tokens

FORMAT = 9
"""Version of the stored arrays and of the indexed texts; incrementing it invalidates stored indexes."""

_DENSE_ROWS = 1000
_BORROWED_WEIGHT = 1.5
_DUPLICATE_OVERLAP = 0.5


@dataclass(frozen=True, slots=True)
class ApiIndex:
    """Searches `apis`; the rows of every part are numbered in that order."""

    apis: Sequence[ApiDoc]
    names: ApiNames
    lexical: LexicalIndex
    word_vectors: DenseIndex
    prior: NDArray[np.float32]
    described: NDArray[np.bool_]
    """Whether there is any text on what an API does, its own or borrowed."""

    @classmethod
    def build(cls, apis: Sequence[ApiDoc], introduction: str = "") -> ApiIndex:
        """Index these APIs with the built-in word vectors. Takes seconds for thousands of APIs.

        `introduction`: the libraries' READMEs and example programs, which call what is wanted most.
        """
        described = own_descriptions(apis)
        borrowed = borrowed_texts(described)
        heads = [f"{indexed_text.dense_text(api)}\n{text}" for api, text in zip(described, borrowed, strict=True)]
        return cls(
            apis,
            ApiNames(apis),
            LexicalIndex.of([*indexed_text.index_fields(described), Field(borrowed, _BORROWED_WEIGHT)]),
            # Rounded as they are stored, so that a reopened index gives the same order.
            _word_index(stack_rows([word_embedder.embed_text(head) for head in heads]).astype(np.float16)),
            prior(apis, introduction),
            np.asarray(
                [bool(api.description or text) for api, text in zip(described, borrowed, strict=True)], dtype=bool
            ),
        )

    @classmethod
    def reopen(cls, apis: Sequence[ApiDoc], arrays: Arrays) -> ApiIndex:
        """Restore an index from its arrays. Raises KeyError or ValueError if they belong to another index."""
        if not len(arrays["vectors"]) == len(arrays["prior"]) == len(arrays["described"]) == len(apis):
            raise ValueError("the stored index belongs to other APIs")
        words = {name.removeprefix("lexical."): array for name, array in arrays.items() if name.startswith("lexical.")}
        dense = _word_index(arrays["vectors"])
        prior, described = arrays["prior"].astype(np.float32), arrays["described"].astype(bool)
        return cls(apis, ApiNames(apis), LexicalIndex(words), dense, prior, described)

    def arrays(self) -> Arrays:
        """Return the arrays from which `reopen` restores this index."""
        arrays: Arrays = {
            "prior": self.prior,
            "described": self.described,
            "vectors": self.word_vectors.vectors.astype(np.float16),
        }
        arrays |= {f"lexical.{name}": array for name, array in self.lexical.arrays().items()}
        return arrays

    async def search(self, query: str, k: int, *, meaning: ApiEmbeddings | None = None) -> list[ScoredApi]:
        """Return the k APIs most relevant to the query, best first.

        `meaning` contains vectors that replace the built-in ones.

        Raises EndpointError from the embedder of `meaning`.
        """
        match = await self._match(query, meaning)
        score = np.where(match > 0, np.exp(match + score_combination.PRIOR_WEIGHT * self.prior), 0)
        return self._top_rows(score, k, query)

    async def search_together(
        self, queries: Sequence[str], k: int, *, meaning: ApiEmbeddings | None = None
    ) -> list[ScoredApi]:
        """Return the k APIs that best serve several queries of one task, best first; see `search`."""
        matches = [match for query in queries if (match := await self._match(query, meaning)).any()]
        if not matches:
            return []
        worth = combine_queries([match + score_combination.PRIOR_WEIGHT * self.prior for match in matches])
        return self._top_rows(np.where(np.any(matches, axis=0), worth, 0), k, " ".join(queries))

    async def _match(self, query: str, meaning: ApiEmbeddings | None) -> NDArray[np.float32]:
        without_libraries = drop_library_names(query, self.names.libraries)
        terms = replace_adverbs(drop_filler_words(without_libraries, self.names.terms), self.names.terms)
        others = synonyms(terms)
        words = self.lexical.scores(terms) + score_combination.SYNONYM_WEIGHT * self.lexical.scores(others)
        most = self.lexical.highest_score(terms) or self.lexical.highest_score(others) or 1
        lexical = score_combination.LEXICAL_WEIGHT * words / most
        if meaning:
            dense = score_combination.EMBEDDER_WEIGHT * rescale_positive(
                await meaning.scores(without_libraries, most=_DENSE_ROWS)
            )
        else:
            similarity = self.word_vectors.scores(word_embedder.embed_text(terms), most=_DENSE_ROWS)
            dense = score_combination.WORD_VECTOR_WEIGHT * scale_to_max(similarity)
        named = score_combination.NAMED_BONUS * self.names.rows_named(find_named_apis(query))
        spelled = score_combination.SPELLED_BONUS * self.names.rows_spelled_in(without_libraries)
        return np.asarray(lexical + dense + (named + spelled), dtype=np.float32)

    def _top_rows(self, score: NDArray[np.float32], k: int, query: str) -> list[ScoredApi]:
        """Return the k best rows; if they are of n libraries, at least k / n of each."""
        order = np.argsort(-score, kind="stable")[: np.count_nonzero(score > 0)].tolist()
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for row in order:
            groups[self.apis[row].library].append(row)
        words = frozenset(tokens(query))

        def says_nothing(row: int) -> bool:
            return not self.described[row] and words.isdisjoint(tokens(self.names.row_names[row]))

        names, most = self.names.row_names, max(k, 0)
        best = [
            diversify(rows, names, most, is_duplicate=self._has_same_summary, says_nothing=says_nothing)
            for rows in groups.values()
        ]
        rows = best[0] if len(best) == 1 else sorted(share_places(best, most), key=lambda row: -float(score[row]))
        return [ScoredApi(self.apis[row], float(score[row])) for row in rows]

    def _has_same_summary(self, one: int, other: int) -> bool:
        """Return whether two rows have nearly the same summary.

        The `mean` of two classes does, but not `replace` of values and of text.
        """
        first, second = (frozenset(tokens(self.apis[row].summary)) for row in (one, other))
        return len(first & second) >= _DUPLICATE_OVERLAP * len(first | second)


def _word_index(vectors: NDArray[np.generic]) -> DenseIndex:
    return DenseIndex(vectors.astype(np.float32), word_embedder.UNRELATED_COSINE)
