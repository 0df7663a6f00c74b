"""The tokenizer and stemmer of all texts that are searched or compared: documentation, pages, queries, tasks.

Identifiers are indexed whole and in parts (`read_csv`, `read`, `csv`; `DataFrame`, `data`, `frame`). Words are stemmed
lightly, so that "grouping" matches "group"; stop words are dropped. The built-in word vectors use these terms: a change
for English words requires new vectors (`scripts/train_word_vectors.py`) and a new `api_index.FORMAT`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]\w*|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    """a about above after all also am an and any are as at be because been before being below between both but by can
    could did do does doing down during each either else etc few for from further had has have having here how however i
    if in into is it its itself just may me might more most must my need no nor not now of off on once only or other our
    out over own please same shall should so some such than that the their them then there these they this those through
    thus to too under until up upon us use used uses using very via want was way we were what when where whether which
    while who whom why will with within without would yes you your yourself
    example examples note notes parameter parameters param params return returns returned see following given ie eg code
    function method class object default optional none true false self""".split()  # noqa: SIM905
)
_ENDINGS = (
    ("ations", "ate"), ("ation", "ate"), ("ities", "ity"), ("ements", "e"), ("ement", "e"),
    ("ingly", ""), ("edly", ""), ("ings", ""), ("ing", ""), ("ied", "y"), ("ies", "y"),
    ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"),
    ("ers", ""), ("ed", ""), ("er", ""), ("es", "e"), ("s", ""),
)  # fmt: skip


def tokens(text: str) -> list[str]:
    """Return the index terms of a text in order, with repetitions."""
    return [term for word in _WORD.findall(text) for term in _terms(word)]


@lru_cache(maxsize=200_000)
def _terms(word: str) -> tuple[str, ...]:
    parts = [part.lower() for part in split_identifier(word)]
    stems = [stem(part) for part in parts if part not in _STOP_WORDS and (len(part) > 1 or part.isdigit())]
    whole = word.lower().strip("_")
    if len(parts) > 1 and whole not in _STOP_WORDS:
        return (whole, *stems)
    return tuple(stems)


def split_identifier(name: str) -> list[str]:
    """Return the words of an identifier or a text: `read_csv` and `DataFrame` have two."""
    words = _ALPHANUMERIC.findall(name)
    return [part for word in words for part in (_PART.findall(word) if word.isascii() else [word])]


def stem(word: str) -> str:
    """Return a word without its inflection: `grouped`, `grouping` and `groups` become `group`."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _normalize_ending(word[: -len(ending)] + instead)
    return _normalize_ending(word)


def _normalize_ending(word: str) -> str:
    """Remove a doubled last letter or a silent `e`, which inflection changes too."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word
