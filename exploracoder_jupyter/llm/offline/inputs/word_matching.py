"""Splits, stems and compares the words of tasks and names.

Matching is deliberately lexical, as the offline model does not understand language. Names are split at underscores and
capitals and words are stemmed; abbreviations (`fmt` for `format`) and a small thesaurus of programming
English bridge the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from exploracoder_jupyter.text.tokenizer import split_identifier, stem

_STOP_WORDS = """
a all an and answer any are as assign assigned at be between both by calculate calculates call called code
compute computes determine do does each every find finds following for from get gets give given gives i if in
into is it its keep let library make makes me my name named new obtain of on one or our output per please
program put python result results return returns save saved set-up so store stored such task than that the
their them then these they this those to two use using value values variable via we when where which with you
your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that are irrelevant to which API is meant."""

_SYNONYM_GROUPS = """
average mean; remove delete drop discard strip erase; merge join combine concat concatenate union; split chunk
partition divide batch; reverse backwards invert; convert transform translate cast change; parse load loads decode
read interpret; serialise serialize dump dumps encode write; build create construct generate initialise; biggest
largest maximum max highest greatest; smallest lowest minimum min least; number count amount num n; common shared
intersection mutual overlap; similarity ratio similar closeness alike; insert add append put push; show render
display print format draw; search query lookup look; duplicate repeated unique distinct dedupe; order sort; equation
solve root; text string str sentence; group bucket groupby cluster; difference diff delta subtract; nested nest deep
recursive; flat flatten collapse; ordinal nth position; index position; key field column; predict prediction
forecast; fit train learn; derivative differentiate diff; integral integrate antiderivative; dictionary dict mapping
map; human natural readable friendly; distance metric; circle round disk; fetch get retrieve access; width columns
characters; pair two couple; sliding slide moving rolling window; consecutive adjacent successive neighbouring;
ascii transliterate unidecode plain; url uri link; words word tokens token
"""
"""Groups of words that mean the same among names of APIs."""

_SYNONYMS: dict[str, frozenset[str]] = {}
for _group in _SYNONYM_GROUPS.split(";"):
    _stems = frozenset(stem(word) for word in _group.split())
    for _stem in _stems:
        _SYNONYMS[_stem] = _SYNONYMS.get(_stem, frozenset()) | _stems


@lru_cache(maxsize=50_000)
def name_stems(name: str) -> tuple[str, ...]:
    """Return the stemmed words of an identifier or a text, in order."""
    return tuple(stem(word.lower()) for word in split_identifier(name))


@lru_cache(maxsize=20_000)
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stemmed words of a text that may name an API, each once, in order."""
    words = [
        word for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", text.replace("_", " ")) if word.lower() not in STOP_WORDS
    ]
    return tuple(dict.fromkeys(part for word in words for part in name_stems(word)))


@lru_cache(maxsize=200_000)
def similarity(word: str, other: str) -> float:
    """Rate how similar two stems are in meaning, from 0 to 1."""
    if word == other:
        return 1.0
    if other in _SYNONYMS.get(word, ()):
        return 0.75
    short, long = sorted((word, other), key=len)
    if len(short) >= 4 and long.startswith(short):
        return 0.8 if len(long) - len(short) <= 3 else 0.6
    if len(short) >= 4 and short in long:
        return 0.6
    if len(short) == 3 and long.startswith(short) and len(long) >= 5:
        return 0.55
    if 3 <= len(short) <= 4 and is_abbreviation(short, long):
        return 0.5
    return 0.0


def is_abbreviation(short: str, long: str, *, omitted: int = 4) -> bool:
    """Return whether `short` is `long` with at most so many letters omitted, such as `fmt` for `format`."""
    if not short or short[0] != long[0] or len(long) - len(short) > omitted:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


def best_similarity(word: str, others: Iterable[str]) -> float:
    """Return the similarity of the word to the most similar of the others."""
    return max((similarity(word, other) for other in others), default=0.0)
