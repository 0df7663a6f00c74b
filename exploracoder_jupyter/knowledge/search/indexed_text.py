"""What of an API is indexed.

By words, its *fields*: name and path, first sentence, opening, parameters, everything else, and what others say of it
where they point to it. By meaning, its *head*: path and opening (path and first sentence are what retrieval lives on,
ExploraCoder, Table 9).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search.lexical_index import Field

_SECTION = re.compile(
    r"^(?:[A-Z]\w+(?: \w+)?\n[-=~]{3,}"
    r"|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$|:param|>>> )",
    re.MULTILINE,
)
_SEE_ALSO = re.compile(r"^See Also\n-{3,}\n(.*?)(?=\n\n\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_LONGEST_SIGNATURE = 300


def fields(apis: Sequence[ApiDoc]) -> list[Field]:
    """The parts of these APIs for the lexical index, each with its weight."""
    openings = [opening(api) for api in apis]
    return [
        Field([" ".join(names(api)) for api in apis], 3),
        Field([_below(api) for api in apis], 1),
        Field([api.summary for api in apis], 2),
        Field(openings, 1),
        Field([_parameters(api) for api in apis], 0.5),
        Field([api.description[len(start) :] for api, start in zip(apis, openings, strict=True)], 0.5),
        Field(_said_by_others(apis), 1),
    ]


def head(api: ApiDoc) -> str:
    """Path and opening of the docstring, for the dense index; the name and the summary count more."""
    return "\n".join((_below(api), *names(api), api.name, api.summary, api.summary, opening(api)))


def described(api: ApiDoc) -> str:
    """Path and summary, for an embedding model."""
    return f"{api.path}: {api.summary}" if api.summary else f"{api.path}{api.signature}"


def opening(api: ApiDoc) -> str:
    """The docstring before its first section."""
    return _SECTION.split(api.description, maxsplit=1)[0]


def names(api: ApiDoc) -> tuple[str, ...]:
    """By what it is called, each once: its name, and those of its aliases."""
    return tuple(dict.fromkeys((api.name, *(alias.rpartition(".")[2] for alias in api.aliases))))


def _below(api: ApiDoc) -> str:
    """The path below the library: its name tells nothing apart."""
    return api.path.partition(".")[2].replace(".", " ")


def _parameters(api: ApiDoc) -> str:
    told = [f"{one.name} {one.about}" for one in api.parameters]
    return "\n".join((api.signature[:_LONGEST_SIGNATURE], *told, api.returns))


def _said_by_others(apis: Sequence[ApiDoc]) -> list[str]:
    """What the documentation of others says of each name where it lists it under "See Also"."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for api in apis:
        for name, text in listed(api.description):
            if name != api.name:
                said[name].append(text)
    return ["\n".join(dict.fromkeys(said.get(api.name, ()))) for api in apis]


def listed(description: str) -> Iterator[tuple[str, str]]:
    """Names and texts under "See Also": `names : text`, which goes on in indented lines."""
    section = _SEE_ALSO.search(description)
    for item in re.split(r"\n(?=\S)", section[1] if section else ""):
        heads, _, text = item.partition(" : ")
        for one in heads.split(",") if text else ():
            yield one.strip(" `").rpartition(".")[2], " ".join(text.split())
