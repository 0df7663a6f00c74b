"""Selects the parts of an API's documentation that are indexed.

The lexical index gets *fields*: name and path, first sentence, opening, parameters, everything else, and the
descriptions that other APIs give of it under "See Also". The dense index gets the *head*: path and opening, because
retrieval depends most on path and first sentence (ExploraCoder, Table 9).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search.fallback_descriptions import name_meanings
from exploracoder_jupyter.text.lexical_index import Field

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
