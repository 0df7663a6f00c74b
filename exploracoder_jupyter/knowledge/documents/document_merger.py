"""Documents and what was read of libraries in one: more on known APIs, APIs that only documents tell of, whole
libraries that only documents describe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.errors import ExploraError, MissingMeans
from exploracoder_jupyter.core.types import ApiDoc, LibraryInfo, Passage
from exploracoder_jupyter.knowledge.documents.api_ownership import import_name, letters, sort_out, together
from exploracoder_jupyter.knowledge.documents.document_set import Documents
from exploracoder_jupyter.knowledge.extraction.public_surface import Surface
from exploracoder_jupyter.knowledge.extraction.written_paths import Paths

_OPENING = 60
"""Characters by which a text is known again."""
_FRONT = 6_000
"""Characters of the documents' front page beside a library's own README."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A library that cannot be read here."""

    asked: str
    """As the user wrote it."""
    why: ExploraError


@dataclass(frozen=True, slots=True)
class Merged:
    """The libraries of a run with what documents add."""

    surfaces: tuple[Surface, ...]
    """In the order asked for."""
    passages: tuple[Passage, ...]
    notices: tuple[str, ...]
    unread: tuple[str, ...] = ()
    """Import names of libraries that are installed and could not be imported to be read."""


def merged(read: Sequence[Surface | Absent], documents: Documents) -> Merged:
    """Libraries and documents in one.

    Raises:
        ExploraError: a library cannot be read, and the documents describe no API of it.
    """
    taken = {one.info.name for one in read if isinstance(one, Surface)}
    named = {one.asked: import_name(one.asked, documents, taken) for one in read if isinstance(one, Absent)}
    known = {one.info.name: _paths(one) for one in read if isinstance(one, Surface)}
    own = sort_out(documents.apis, known, list(named.values()))
    others = [one for one in read if isinstance(one, Surface) and _is_other_version(one.info, documents)]
    notices = [*documents.notices, *(_told_of_version(one.info, documents) for one in others)]
    surfaces: list[Surface] = []
    for one in read:
        if isinstance(one, Surface):
            surfaces.append(_enriched(one, own.by_library[one.info.name], documents, adds=one not in others))
            continue
        apis = own.by_library[named[one.asked]]
        if not apis:
            raise type(one.why)(f"{one.why.message} The documents describe no API of it.", remedy=one.why.remedy)
        surfaces.append(_described(one.asked, named[one.asked], apis.values(), documents))
        notices.append(_told(one, len(apis)))
    passages = (*documents.passages, *_left_over(own.foreign, documents.passages))
    unread = tuple(named[one.asked] for one in read if isinstance(one, Absent) and isinstance(one.why, MissingMeans))
    return Merged(tuple(surfaces), passages, tuple(notices), unread)


def _paths(surface: Surface) -> dict[str, str]:
    return {**surface.aliases, **{api.path: api.path for api in surface.apis}}


def _enriched(surface: Surface, found: dict[str, ApiDoc], documents: Documents, *, adds: bool) -> Surface:
    """A library with what documents say. Its own code is believed where they differ; `adds`: they may tell of APIs that
    it did not show."""
    known = {api.path for api in surface.apis}
    apis = [together(api, found[api.path]) if api.path in found else api for api in surface.apis]
    added = [api for path, api in found.items() if adds and path not in known]
    return replace(
        surface,
        apis=(*apis, *added),
        introduction="\n\n".join(filter(None, (surface.introduction, documents.text[:_FRONT]))),
        programs=tuple(dict.fromkeys((*surface.programs, *documents.programs))),
    )


def _is_other_version(info: LibraryInfo, documents: Documents) -> bool:
    """Whether the documents are of this library in another version, which may have other APIs."""
    version, installed = documents.version, f"{info.version}."
    named = letters(documents.project.removesuffix(version)) in (letters(info.name), letters(info.distribution))
    return bool(version) and named and not installed.startswith(f"{version}.")


def _told_of_version(info: LibraryInfo, documents: Documents) -> str:
    return (
        f"The documents are of {documents.project}, and {info.version} is installed: APIs that they alone tell of are "
        "left out."
    )


def _described(asked: str, name: str, apis: Iterable[ApiDoc], documents: Documents) -> Surface:
    info = LibraryInfo(name, asked, documents.version)
    rows = sorted(apis, key=lambda api: api.path)
    known = Paths({api.path: api.path for api in rows}, name)
    told = (replace(api, version=info.version, see_also=known.resolve(api.see_also, api.path)) for api in rows)
    return Surface(info, tuple(told), {}, documents.text, documents.programs, 0.0)


def _told(one: Absent, apis: int) -> str:
    known = f"What is known of it comes from the documents alone ({apis:,} API{'s' * (apis != 1)})"
    if isinstance(one.why, MissingMeans):
        return (
            f"{one.why.message} {known}. It was imported in a process that only reads; whether experiments can import "
            "it is tried where they run."
        )
    return (
        f"{one.why.message} {known}, and code that uses it cannot run here: every experiment will fail where it is "
        "imported."
    )


def _left_over(apis: Iterable[ApiDoc], passages: Iterable[Passage]) -> Iterator[Passage]:
    """APIs of no library of this run as passages, where their description is not in one."""
    told: dict[str, list[str]] = {}
    for passage in passages:
        told.setdefault(_file(passage.origin), []).append(passage.text)
    for api in apis:
        opening = api.description[:_OPENING]
        if opening and not any(opening in text for text in told.get(_file(api.origin), ())):
            yield _passage(api)


def _file(origin: str) -> str:
    return origin.partition("#")[0].partition(", ")[0]


def _passage(api: ApiDoc) -> Passage:
    return Passage("documentation", f"{api.path}{api.signature}", api.description or api.path, api.origin)
