"""What of an API is indexed, and how likely it is wanted whatever the query."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin
from exploracoder_jupyter.text.lexical_index import Field
from exploracoder_jupyter.text.tokenizer import stem, tokens

# Which text describes each API of a collection: its own, or else what is known of its name elsewhere.
#
# Some texts are not the API's own: those that a class inherits from a builtin type, and those that descriptors take
# from their type. What has no text of its own borrows it: from documented APIs of the same name in the collection,
# and from a table of names that many libraries share (`scripts/common_names.py`).

PATH = Path(__file__).with_name("common_names.json")

NAME_PARTS = {
    "to": "convert",
    "ito": "convert",
    "as": "convert create",
    "from": "create convert",
    "iter": "iterate",
    "is": "check",
    "has": "check",
    "get": "get",
    "set": "set",
    "read": "read",
    "write": "write",
    "find": "find",
    "make": "make",
    "fetch": "fetch",
    "new": "create",
}
"""What parts of names mean, also where they are stop words in texts."""
_RUN_TOGETHER = re.compile(rf"({'|'.join(NAME_PARTS)})([a-z]{{2,}})")
"""A name such as `asarray` or `getexif`."""
_FIELD = re.compile(r"Alias for field number \d+")
"""What a named tuple says of each of its fields."""
_MAX_DESCRIBED = 3
"""A text that properties of so many names share describes their type."""
_MAX_NAMESAKES = 3


@cache
def common_names() -> dict[str, str]:
    """Return the words that describe names which many libraries share, as stems, by name."""
    return dict(json.loads(PATH.read_text(encoding="utf-8")))


def own_descriptions(apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Return the APIs, without the descriptions that are not their own."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for api in apis:
        if api.kind == "property":
            names[api.description].add(api.name)
    foreign = {text for text, described in names.items() if len(described) >= _MAX_DESCRIBED}
    return [
        replace(api, description="")
        if is_inherited_from_builtin(api)
        or (api.kind == "property" and (api.description in foreign or _FIELD.fullmatch(api.description)))
        else api
        for api in apis
    ]


def name_meanings(apis: Sequence[ApiDoc]) -> list[str]:
    """Return what the parts of each name mean, and the second part of a name such as `asarray`."""
    known = {term for api in apis for term in tokens(api.path)}
    return [" ".join(_meanings(api.name, known)) for api in apis]


def borrowed_texts(apis: Sequence[ApiDoc]) -> list[str]:
    """Return what is known elsewhere of the names of undocumented APIs; empty for the others."""
    namesakes: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for api in apis:
        if api.summary and len(namesakes[api.name]) < _MAX_NAMESAKES:
            namesakes[api.name][api.summary] = None
    return [
        "" if api.description else "\n".join((*namesakes.get(api.name, ()), common_names().get(api.name, "")))
        for api in apis
    ]


def _meanings(name: str, known: Container[str]) -> Iterator[str]:
    for part in name.lower().split("_"):
        together = _RUN_TOGETHER.fullmatch(part)
        if part in NAME_PARTS:
            yield NAME_PARTS[part]
        elif together and stem(together[2]) in known:
            yield f"{NAME_PARTS[together[1]]} {together[2]}"


# Selects the parts of an API's documentation that are indexed.
#
# The lexical index gets *fields*: name and path, first sentence, opening, parameters, everything else, and the
# descriptions that other APIs give of it under "See Also". The dense index gets the *head*: path and opening,
# because retrieval depends most on path and first sentence (ExploraCoder, Table 9).

_SECTION = re.compile(
    r"^(?:[A-Z]\w+(?: \w+)?\n[-=~]{3,}"
    r"|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$|:param|>>> )",
    re.MULTILINE,
)
_SEE_ALSO = re.compile(r"^See Also\n-{3,}\n(.*?)(?=\n\n\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_MAX_SIGNATURE_CHARS = 300


def index_fields(apis: Sequence[ApiDoc]) -> list[Field]:
    """Return the fields of these APIs for the lexical index, each with its weight."""
    openings = [opening(api) for api in apis]
    parameters = [
        "\n".join(
            (api.signature[:_MAX_SIGNATURE_CHARS], *(f"{one.name} {one.about}" for one in api.parameters), api.returns)
        )
        for api in apis
    ]
    names = zip(apis, name_meanings(apis), strict=True)
    return [
        Field([" ".join((*api_names(api), meaning)) for api, meaning in names], 3),
        Field([_path_in_library(api) for api in apis], 1),
        Field([api.summary for api in apis], 2),
        Field(openings, 1),
        Field(parameters, 0.5),
        Field([api.description[len(start) :] for api, start in zip(apis, openings, strict=True)], 0.5),
        Field(_cross_references(apis), 1),
    ]


def dense_text(api: ApiDoc) -> str:
    """Return path and opening of the docstring for the dense index; name and summary are repeated to count more."""
    return "\n".join((_path_in_library(api), *api_names(api), api.name, api.summary, api.summary, opening(api)))


def embedding_text(api: ApiDoc) -> str:
    """Return path and summary, for an external embedding model."""
    return f"{api.path}: {api.summary}" if api.summary else f"{api.path}{api.signature}"


def opening(api: ApiDoc) -> str:
    """Return the docstring up to its first section."""
    return _SECTION.split(api.description, maxsplit=1)[0]


def api_names(api: ApiDoc) -> tuple[str, ...]:
    """Return the name of an API and the names of its aliases, each once."""
    return tuple(dict.fromkeys((api.name, *(alias.rpartition(".")[2] for alias in api.aliases))))


def _path_in_library(api: ApiDoc) -> str:
    """Return the path without the library's name, which does not distinguish APIs."""
    return api.path.partition(".")[2].replace(".", " ")


def _cross_references(apis: Sequence[ApiDoc]) -> list[str]:
    descriptions: defaultdict[str, list[str]] = defaultdict(list)
    for api in apis:
        for name, text in see_also_entries(api.description):
            if name != api.name:
                descriptions[name].append(text)
    return ["\n".join(dict.fromkeys(descriptions.get(api.name, ()))) for api in apis]


def see_also_entries(description: str) -> Iterator[tuple[str, str]]:
    """Yield names and descriptions listed under "See Also": `names : text`, continued on indented lines."""
    section = _SEE_ALSO.search(description)
    for item in re.split(r"\n(?=\S)", section[1] if section else ""):
        heads, _, text = item.partition(" : ")
        for one in heads.split(",") if text else ():
            yield one.strip(" `").rpartition(".")[2], " ".join(text.split())


# The prior probability that an API is wanted, independent of the query.
#
# People tend to call APIs that the README shows, that other documentation mentions, that several classes have, and
# that are near the top of the library and documented at length. Deprecated APIs, constants, methods of builtins,
# members inherited from another library, error classes, internals and what a package keeps for an earlier version
# of the library are rarely the answer. Everything is read from the library's own documentation. The weights are
# logarithms of factors, so they are added.

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
