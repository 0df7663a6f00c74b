"""Preprocesses queries: finds APIs named outright, and drops the library's name and filler words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from exploracoder_jupyter.text.tokenizer import stem, tokens

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
    for line in Path(__file__).with_name("synonyms.txt").read_text().splitlines():
        for word in (words := line.split()):
            groups[stem(word)] += words
    return dict(groups)
