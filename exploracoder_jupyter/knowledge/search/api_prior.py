"""The prior probability that an API is wanted, independent of the query.

People tend to call APIs that other documentation mentions, that several classes have, and that are near the top of the
library and documented at length. Deprecated APIs and constants are rarely the answer. Everything is read from the
library's own documentation. The weights are logarithms of factors, so they are added.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc

_MENTION = re.compile(r"(?:[`.]|^)([A-Za-z_]\w*)(?=[`(]|\s+:)", re.MULTILINE)
_MENTIONED_WEIGHT = 0.7
"""For the most mentioned name, compared with one that is never mentioned."""
_COMMON_COUNT = 50
"""The number of mentions (or classes) that makes a name common, however small the library."""
_SHARED_NAME_WEIGHT = 0.4
"""For a name that many classes have."""
_DEPTH_WEIGHT = -0.1
"""For each level below the top."""
_UNDOCUMENTED_WEIGHT = -0.4
_LENGTH_WEIGHT = 0.08
"""For each e-fold increase in the length of the documentation."""
_DEPRECATED_WEIGHT = -1.0
_CONSTANT_WEIGHT = -0.7
_INHERITED_WEIGHT = -1.5
"""For the methods that every exception inherits: they are not why a library is used."""
_EXCEPTION_METHOD = re.compile(r"(Base)?Exception\.(add_note|with_traceback)\(")
"""How Python's own documentation of these methods begins."""


def prior(apis: Sequence[ApiDoc]) -> NDArray[np.float32]:
    """Return the log prior of each API; differences are comparable across libraries."""
    mentions = _count_mentions(apis)
    most = math.log1p(max((_COMMON_COUNT, *mentions.values())))
    name_counts = Counter(api.name for api in apis)
    return np.asarray(
        [
            _MENTIONED_WEIGHT * math.log1p(mentions[api.name]) / most
            + _SHARED_NAME_WEIGHT * min(math.log(name_counts[api.name]) / math.log(_COMMON_COUNT), 1)
            + _own_prior(api)
            for api in apis
        ],
        dtype=np.float32,
    )


def _own_prior(api: ApiDoc) -> float:
    """Return the part of the prior that depends on the API alone."""
    documentation = _LENGTH_WEIGHT * math.log(len(api.description)) if api.description else _UNDOCUMENTED_WEIGHT
    penalty = _DEPRECATED_WEIGHT * bool(api.deprecated) + _CONSTANT_WEIGHT * (api.kind == "constant")
    penalty += _INHERITED_WEIGHT * bool(_EXCEPTION_METHOD.match(api.description))
    return documentation + penalty + _DEPTH_WEIGHT * max(api.path.count(".") - 1, 0)


def _count_mentions(apis: Sequence[ApiDoc]) -> Counter[str]:
    """Count in how many other APIs' docstrings each name is called, marked up or listed."""
    counts: Counter[str] = Counter()
    for api in apis:
        counts.update(set(_MENTION.findall(api.description)) - {api.name})
    return counts
