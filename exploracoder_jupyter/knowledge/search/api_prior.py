"""How likely an API is to be wanted at all, whatever is asked.

What people call is what the documentation of others mentions, what several classes have, what is near the top and
documented at length. What is deprecated or no more than a constant is seldom the answer. All of it is read from the
library's own documentation, and all of it is a matter of degrees: the parts are logarithms of factors, and add up.
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
_MENTIONED = 0.7
"""For the most mentioned name, against one that is never mentioned."""
_MANY = 50
"""So many mentions make a name a much mentioned one, however small the library; so many classes, a common one."""
_SHARED = 0.4
"""For a name that many classes have."""
_DEEP = -0.1
"""For each level below the top."""
_UNDOCUMENTED = -0.4
_LENGTHY = 0.08
"""For each doubling (by e) of what the documentation says."""
_DEPRECATED = -1.0
_CONSTANT = -0.7
_EVERYWHERE = -1.5
"""For what every exception has by itself: no library is learned for that."""
_OF_EXCEPTIONS = re.compile(r"(Base)?Exception\.(add_note|with_traceback)\(")
"""How Python's own documentation of it begins."""


def prior(apis: Sequence[ApiDoc]) -> NDArray[np.float32]:
    """A number for each API, higher where it is likelier wanted; differences mean the same in every library."""
    mentions = _mentions(apis)
    most = math.log1p(max((_MANY, *mentions.values())))
    bearers = Counter(api.name for api in apis)
    return np.asarray(
        [
            _MENTIONED * math.log1p(mentions[api.name]) / most
            + _SHARED * min(math.log(bearers[api.name]) / math.log(_MANY), 1)
            + _own(api)
            for api in apis
        ],
        dtype=np.float32,
    )


def _own(api: ApiDoc) -> float:
    """What speaks for and against an API by itself."""
    told = _LENGTHY * math.log(len(api.description)) if api.description else _UNDOCUMENTED
    against = _DEPRECATED * bool(api.deprecated) + _CONSTANT * (api.kind == "constant")
    against += _EVERYWHERE * bool(_OF_EXCEPTIONS.match(api.description))
    return told + against + _DEEP * max(api.path.count(".") - 1, 0)


def _mentions(apis: Sequence[ApiDoc]) -> Counter[str]:
    """In how many other APIs' docstrings each name is referred to: called, marked up or listed."""
    counts: Counter[str] = Counter()
    for api in apis:
        counts.update(set(_MENTION.findall(api.description)) - {api.name})
    return counts
