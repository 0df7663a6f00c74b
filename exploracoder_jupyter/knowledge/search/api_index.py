"""The search index of a collection of APIs: names, words and meaning in one ranking."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc, ScoredApi
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search import vectors as word_embedder
from exploracoder_jupyter.knowledge.search.indexed_text import NAME_PARTS, borrowed_texts, own_descriptions, prior
from exploracoder_jupyter.knowledge.search.vectors import ApiEmbeddings, DenseIndex, stack_rows
from exploracoder_jupyter.text.lexical_index import Arrays, Field, LexicalIndex
from exploracoder_jupyter.text.tokenizer import stem, tokens

# Looks up the APIs of a collection by name, for search.

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


# Preprocesses queries: finds APIs named outright, and drops the library's name and filler words.

_NAME_PATTERNS = tuple(
    map(
        re.compile,
        (
            r"[.`](\w{2,})",
            r"\b(\w{2,})(?=\()",
            r"\b(\w+_\w+)\b",
            r"\b(\w{2,})`? (?:function|method)\b",
            r"\b(?:function|method) `?(\w{2,})",
        ),
    )
)
_FILLER_WORDS = """
    above achieve actually aim anyone anything appreciate basically below best better clearly code coding
    come detail easily easiest easy efficient elegant example fast fastest final finally find firstly following get
    give given goal got help helpful idea implement input know like look maybe moreover need new obviously one output
    particular pleased possible practical probably problem program python pythonic question quick quickly reason
    result say secondly seem shorthand simple simplest simply solution solve someone something specially specific
    suggest task tell thank tried try two understand want way wonder work
    """.split()  # noqa: SIM905
_ADVERB_ENDINGS = (("ically", "ic"), ("ally", "al"), ("ily", "y"), ("bly", "ble"), ("ly", ""))
"""Endings of adverbs with those of their adjectives, from which stemming does not remove them."""
_FILLER_STEMS = frozenset(map(stem, _FILLER_WORDS))


def find_named_apis(query: str) -> frozenset[str]:
    """Return the words written as code or called a function.

    For example: `groupby`, np.all, read_csv, where(...), "the where function".
    """
    return frozenset(word for pattern in _NAME_PATTERNS for word in pattern.findall(query))


def drop_library_names(query: str, libraries: Iterable[str]) -> str:
    """Remove the names of the libraries from the query; returns it unchanged if nothing else is left."""
    names = "|".join(re.escape(name) for name in libraries)
    rest = re.sub(rf"\b(?:{names})\b", " ", query, flags=re.IGNORECASE) if names else query
    return rest if re.search(r"\w", rest) else query


def drop_filler_words(query: str, name_terms: Collection[str]) -> str:
    """Remove filler words ("what is the best way to") from the query.

    Words that are part of an API's name (`name_terms`, as tokens) stay. Returns the query unchanged if nothing else is
    left.
    """
    filler = _FILLER_STEMS.difference(name_terms)
    rest = re.sub(r"[A-Za-z]+", lambda word: " " if stem(word[0].lower()) in filler else word[0], query)
    return rest if tokens(rest) else query


def replace_adverbs(query: str, name_terms: Collection[str]) -> str:
    """Replace adverbs that no API has in its name by the adjectives that some have: "safely" by "safe"."""

    def adjective(word: re.Match[str]) -> str:
        adverb = word[0].lower()
        if stem(adverb) in name_terms:
            return word[0]
        forms = (adverb.removesuffix(end) + instead for end, instead in _ADVERB_ENDINGS if adverb.endswith(end))
        return next((form for form in forms if stem(form) in name_terms), word[0])

    return re.sub(r"[A-Za-z]{3,}ly\b", adjective, query)


def synonyms(query: str) -> str:
    """Return the synonyms of the words of a query, in the language of programming; not the words themselves."""
    given = dict.fromkeys(tokens(query))
    found = dict.fromkeys(word for term in given for word in _synonyms().get(term, ()))
    return " ".join(word for word in found if not given.keys() & {*tokens(word)})


@cache
def _synonyms() -> dict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for line in Path(__file__).with_name("synonyms.txt").read_text(encoding="utf-8").splitlines():
        for word in (words := line.split()):
            groups[stem(word)] += words
    return dict(groups)


# Combines rankings: weighted and scaled scores, reciprocal rank fusion, several queries, and diversity.
#
# Within one library, a weighted sum of scores scaled to 0..1 for the query at hand finds more than reciprocal rank
# fusion (measured, see benchmarks/MEASUREMENTS.md), and it preserves by how much the first results lead. Ranks are
# used where the scores of different sources are not comparable.

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


# The search index of a collection of APIs: lexical and dense scores, added to a prior.
#
# Two scores are combined: BM25F over fields, and similarity of general word vectors, which an external embedder
# replaces.
#
# The index is built once for each combination of library versions. Only `arrays` is stored; `Index.reopen` needs no
# fitting.

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
        score = np.where(match > 0, np.exp(match + PRIOR_WEIGHT * self.prior), 0)
        return self._top_rows(score, k, query)

    async def search_together(
        self, queries: Sequence[str], k: int, *, meaning: ApiEmbeddings | None = None
    ) -> list[ScoredApi]:
        """Return the k APIs that best serve several queries of one task, best first; see `search`."""
        matches = [match for query in queries if (match := await self._match(query, meaning)).any()]
        if not matches:
            return []
        worth = combine_queries([match + PRIOR_WEIGHT * self.prior for match in matches])
        return self._top_rows(np.where(np.any(matches, axis=0), worth, 0), k, " ".join(queries))

    async def _match(self, query: str, meaning: ApiEmbeddings | None) -> NDArray[np.float32]:
        without_libraries = drop_library_names(query, self.names.libraries)
        terms = replace_adverbs(drop_filler_words(without_libraries, self.names.terms), self.names.terms)
        others = synonyms(terms)
        words = self.lexical.scores(terms) + SYNONYM_WEIGHT * self.lexical.scores(others)
        most = self.lexical.highest_score(terms) or self.lexical.highest_score(others) or 1
        lexical = LEXICAL_WEIGHT * words / most
        if meaning:
            dense = EMBEDDER_WEIGHT * rescale_positive(await meaning.scores(without_libraries, most=_DENSE_ROWS))
        else:
            similarity = self.word_vectors.scores(word_embedder.embed_text(terms), most=_DENSE_ROWS)
            dense = WORD_VECTOR_WEIGHT * scale_to_max(similarity)
        named = NAMED_BONUS * self.names.rows_named(find_named_apis(query))
        spelled = SPELLED_BONUS * self.names.rows_spelled_in(without_libraries)
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
