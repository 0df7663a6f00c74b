"""What a query says beside its words: APIs that it names outright, the library, which tells nothing apart, and the
words in which one asks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from exploracoder_jupyter.knowledge.search.tokenizer import stem, tokens

_NAMED = tuple(
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
_ASKING = """
    above achieve actually aim anyone anything appreciate basically below best better changed clearly code coding
    come detail easily easiest easy efficient elegant example fast fastest final finally find firstly following get
    give given goal got help helpful idea implement input know like look maybe moreover need new obviously output
    particular pleased possible practical probably problem program python pythonic question quick quickly reason
    result say secondly seem shorthand simple simplest simply solution solve someone something specially specific
    suggest task tell thank tried try understand want way wonder work
    """.split()  # noqa: SIM905
_IDLE = frozenset(map(stem, _ASKING))


def named(query: str) -> frozenset[str]:
    """Words written as code or called a function: `groupby`, np.all, read_csv, where(...), "the where function"."""
    return frozenset(word for pattern in _NAMED for word in pattern.findall(query))


def subject(query: str, libraries: Iterable[str]) -> str:
    """The query without the names of the libraries; as it is where nothing else is left."""
    names = "|".join(re.escape(name) for name in libraries)
    rest = re.sub(rf"\b(?:{names})\b", " ", query, flags=re.IGNORECASE) if names else query
    return rest if re.search(r"\w", rest) else query


def matter(query: str, borne: Collection[str]) -> str:
    """The query without the words in which one asks for anything at all ("what is the best way to"), but for those
    that are part of an API's name (`borne`, as tokens); as it is where nothing else is left."""
    idle = _IDLE.difference(borne)
    rest = re.sub(r"[A-Za-z]+", lambda word: " " if stem(word[0].lower()) in idle else word[0], query)
    return rest if tokens(rest) else query
