"""What of an API is indexed, and how likely it is to be wanted at all.

Two texts: the *whole* for words (names, signature, the docstring with its examples), and the *head* for meaning (path
and opening paragraphs; path and first sentence are what retrieval lives on, ExploraCoder, Table 9). The *prior* says
which APIs people call: those that the documentation of others mentions, near the top, and documented.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.types import ApiDoc

_SECTION = re.compile(
    r"^(?:[A-Z]\w+(?: \w+)?\n[-=~]{3,}"
    r"|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$|:param|>>> )",
    re.MULTILINE,
)
_MENTION = re.compile(r"(?:[`.]|^)([A-Za-z_]\w*)(?=[`(]|\s+:)", re.MULTILINE)
_LONGEST_SIGNATURE = 300
_MENTIONED = 1.5
"""How much the most mentioned API is preferred to one that is never mentioned."""
_MANY = 50
"""So many mentions make an API a much mentioned one, however small the library."""
_DEEP = 0.15
"""How much each level below the top is a reason against an API."""
_UNDOCUMENTED = 0.5


def whole(api: ApiDoc) -> str:
    """Everything that is said of an API, for the lexical index."""
    below = api.path.partition(".")[2].replace(".", " ")
    return "\n".join((below, api.signature[:_LONGEST_SIGNATURE], api.description))


def head(api: ApiDoc) -> str:
    """Path and opening of the docstring, for the dense index; the name and the summary count more."""
    opening = _SECTION.split(api.description, maxsplit=1)[0]
    below = api.path.partition(".")[2].replace(".", " ")
    return "\n".join((below, api.name, api.name, api.summary, api.summary, opening))


def described(api: ApiDoc) -> str:
    """Path and summary, for an embedding model."""
    return f"{api.path}: {api.summary}" if api.summary else f"{api.path}{api.signature}"


def prior(apis: Sequence[ApiDoc]) -> NDArray[np.float32]:
    """A factor for each API, around 1: how much likelier than others it is to be wanted."""
    mentions = _mentions(apis)
    most = math.log1p(max((_MANY, *mentions.values())))
    factors = [_factor(api, math.log1p(mentions[api.name]) / most) for api in apis]
    return np.asarray(factors, dtype=np.float32)


def _factor(api: ApiDoc, mentioned: float) -> float:
    depth = max(api.path.count(".") - 1, 0)
    documented = 1.0 if api.description else _UNDOCUMENTED
    return documented * (1 + _MENTIONED * mentioned) / (1 + _DEEP * depth)


def _mentions(apis: Sequence[ApiDoc]) -> Counter[str]:
    """In how many other APIs' docstrings each name is referred to: called, marked up or listed."""
    counts: Counter[str] = Counter()
    for api in apis:
        counts.update(set(_MENTION.findall(api.description)) - {api.name})
    return counts
