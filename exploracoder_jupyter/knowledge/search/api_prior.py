"""The prior probability that an API is wanted, independent of the query.

People tend to call APIs that the README shows, that other documentation mentions, that several classes have, and
that are near the top of the library and documented at length. Deprecated APIs, constants, methods of builtins, members
inherited from another library, error classes, internals and what a package keeps for an earlier version of the library
are rarely the answer. Everything is read from the library's own documentation. The weights are logarithms of factors,
so they are added.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search.fallback_descriptions import own_descriptions
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin

_MENTION = re.compile(r"(?:[`.]|^)([A-Za-z_]\w*)(?=[`(]|\s+:)", re.MULTILINE)
_CALL = re.compile(r"\b([A-Za-z_]\w+)(?=\()")
_TYPE = re.compile(r"\b[A-Z]\w+")
_MAX_SIGNATURE = 300
_MENTIONED_WEIGHT = 0.7
"""For the most mentioned name, compared with one that is never mentioned."""
_COMMON_COUNT = 50
"""The number of mentions (or classes) that makes a name common, however small the library."""
_OWNER_WEIGHT = 0.2
"""For the members of the most mentioned class."""
_INTRODUCED_WEIGHT = 0.5
"""For a name that the README and the example programs call at least `_OFTEN` times."""
_OFTEN = 10
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
"""For methods inherited from builtin types: they are not why a library is used."""
_FOREIGN_WEIGHT = -1.5
"""For members that a class inherits from another library, whose documentation they are."""
_ERROR_WEIGHT = -0.8
"""For classes of errors and warnings, and their members."""
_INTERNAL_WEIGHT = -1.0
"""For what a library keeps for itself, by its path."""
_ERROR = re.compile(r"\.[A-Z]\w*(?:Error|Exception|Warning)(?:\.\w+)?$")
_INTERNAL = re.compile(r"\.(?:_\w+|internals?|impl|oxml|compat|testing)\.|\.[A-Z]{2,}_\w*[a-z]\w*(?:\.\w+)?$")
"""Modules by their usual names, and names such as `CT_Row`, which an abbreviation marks as parts of a format."""
_OTHER_VERSION_WEIGHT = -1.5
"""For what is in a package such as `pydantic.v1`, which repeats its parent package's names for an earlier version."""
_MIN_REPEATED = 0.2
"""The share of such a package's names that are also its parent's."""
_VERSION = re.compile(r"(?P<parent>.+?)\.(?P<version>v\d+)\.(?P<name>\w+)")
_PARTIAL = re.compile(
    r"[\d. ]*(?:Using|Passing|Calling|Combining|Giving|Setting"
    r"|The (?:use|\W*\w+\W* (?:parameter|argument|keyword|option)))\b"
)
"""How a note begins that deprecates one way of calling an API, not the API."""


def prior(apis: Sequence[ApiDoc], introduction: str = "") -> NDArray[np.float32]:
    """Return the log prior of each API; differences are comparable across libraries.

    `introduction`: the libraries' READMEs and example programs.
    """
    described = own_descriptions(apis)
    introduced = Counter(_CALL.findall(introduction))
    mentions = _count_mentions(described)
    most = math.log1p(max((_COMMON_COUNT, *mentions.values())))
    name_counts = Counter(api.name for api in apis)
    documented = sum(bool(api.description) for api in described) / max(len(apis), 1)
    classes = {api.path for api in apis if api.kind == "class"}
    versions = _other_versions([api.path for api in apis])
    return np.asarray(
        [
            _MENTIONED_WEIGHT * math.log1p(mentions[api.name]) / most
            + _INTRODUCED_WEIGHT * min(math.log1p(introduced[api.name]) / math.log1p(_OFTEN), 1)
            + _OWNER_WEIGHT * math.log1p(mentions[_owner(api, classes)]) / most
            + _SHARED_NAME_WEIGHT * min(math.log(name_counts[api.name]) / math.log(_COMMON_COUNT), 1)
            + _own_prior(api, documented, inherited=is_inherited_from_builtin(original))
            + _OTHER_VERSION_WEIGHT * api.path.startswith(versions)
            for original, api in zip(apis, described, strict=True)
        ],
        dtype=np.float32,
    )


def _other_versions(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the prefixes of packages such as `pydantic.v1.` that repeat the names of their parent package."""
    known = frozenset(paths)
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        if match := _VERSION.match(path):
            names[match["parent"], match["version"]].add(match["name"])
    return tuple(
        f"{parent}.{version}."
        for (parent, version), found in names.items()
        if sum(f"{parent}.{name}" in known for name in found) >= _MIN_REPEATED * len(found)
    )


def _owner(api: ApiDoc, classes: Container[str]) -> str:
    owner = api.path.rpartition(".")[0]
    return owner.rpartition(".")[2] if owner in classes else ""


def _own_prior(api: ApiDoc, documented: float, *, inherited: bool) -> float:
    """Return the part of the prior that depends on the API alone, in a library of which this share is documented."""
    documentation = _LENGTH_WEIGHT * math.log(len(api.description)) if api.description else _UNDOCUMENTED_WEIGHT
    penalty = _DEPRECATED_WEIGHT * bool(api.deprecated and not _PARTIAL.match(api.deprecated))
    penalty += _CONSTANT_WEIGHT * (api.kind == "constant") + _INHERITED_WEIGHT * inherited
    penalty += _FOREIGN_WEIGHT * (api.foreign and not inherited)
    penalty += _ERROR_WEIGHT * bool(_ERROR.search(api.path)) + _INTERNAL_WEIGHT * bool(_INTERNAL.search(api.path))
    return documentation * documented + penalty + _DEPTH_WEIGHT * max(api.path.count(".") - 1, 0)


def _count_mentions(apis: Sequence[ApiDoc]) -> Counter[str]:
    """Count in how many other APIs' docstrings each name is called, marked up or listed, or in signatures as a type."""
    counts: Counter[str] = Counter()
    for api in apis:
        types = _TYPE.findall(f"{api.signature[:_MAX_SIGNATURE]} {api.returns[:_MAX_SIGNATURE]}")
        counts.update({*_MENTION.findall(api.description), *types} - {api.name})
    return counts
