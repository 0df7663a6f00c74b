"""Merges documents with the libraries that were read.

Documents add to known APIs, describe further APIs, and describe whole libraries that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement
from exploracoder_jupyter.core.types import ApiDoc, LibraryInfo, Passage
from exploracoder_jupyter.knowledge.documents.api_assignment import (
    assign_apis,
    guess_import_name,
    merge_apis,
    normalize_name,
)
from exploracoder_jupyter.knowledge.documents.document_set import Documents
from exploracoder_jupyter.knowledge.extraction.api_path_resolver import resolve_names
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface

_OPENING_CHARS = 60
_MAX_FRONT_CHARS = 6_000
"""Characters of the documents' front page that are added to a library's own README."""


@dataclass(frozen=True, slots=True)
class MissingLibrary:
    """A library that cannot be read here."""

    asked: str
    why: ExploraError


@dataclass(frozen=True, slots=True)
class MergedLibraries:
    """The libraries of a run, extended by documents."""

    surfaces: tuple[Surface, ...]
    """In the order requested."""
    passages: tuple[Passage, ...]
    notices: tuple[str, ...]
    unread: tuple[str, ...] = ()
    """Import names of libraries that are installed but could not be imported."""


def merge_documents(read: Sequence[Surface | MissingLibrary], documents: Documents) -> MergedLibraries:
    """Merge libraries and documents. Raises ExploraError if a library cannot be read and the documents describe no API
    of it.
    """
    taken = {one.info.name for one in read if isinstance(one, Surface)}
    import_names = {
        one.asked: guess_import_name(one.asked, documents, taken) for one in read if isinstance(one, MissingLibrary)
    }
    known = {
        one.info.name: one.aliases | {api.path: api.path for api in one.apis}
        for one in read
        if isinstance(one, Surface)
    }
    own = assign_apis(documents.apis, known, list(import_names.values()))
    others = [one for one in read if isinstance(one, Surface) and _is_other_version(one.info, documents)]
    notices = [*documents.notices]
    notices += [
        f"The documents describe {documents.project}, but version {one.info.version} is installed. APIs that only the "
        "documents describe are left out."
        for one in others
    ]
    surfaces: list[Surface] = []
    for one in read:
        if isinstance(one, Surface):
            surfaces.append(_extend(one, own.by_library[one.info.name], documents, adds=one not in others))
            continue
        apis = own.by_library[import_names[one.asked]]
        if not apis:
            raise type(one.why)(f"{one.why.message} The documents describe no API of it.", remedy=one.why.remedy)
        surfaces.append(_describe_library(one.asked, import_names[one.asked], apis.values(), documents))
        notices.append(_missing_notice(one, len(apis)))
    passages = (*documents.passages, *_unassigned(own.foreign, documents.passages))
    unread = tuple(
        import_names[one.asked]
        for one in read
        if isinstance(one, MissingLibrary) and isinstance(one.why, MissingRequirement)
    )
    return MergedLibraries(tuple(surfaces), passages, tuple(notices), unread)


def _extend(surface: Surface, found: dict[str, ApiDoc], documents: Documents, *, adds: bool) -> Surface:
    """Add what documents say to a library. Its own code takes precedence.

    `adds`: whether documents may add APIs that the library's code did not show.
    """
    known = {api.path for api in surface.apis}
    apis = [merge_apis(api, found[api.path]) if api.path in found else api for api in surface.apis]
    added = [api for path, api in found.items() if adds and path not in known]
    return replace(
        surface,
        apis=(*apis, *added),
        introduction="\n\n".join(filter(None, (surface.introduction, documents.text[:_MAX_FRONT_CHARS]))),
        programs=tuple(dict.fromkeys((*surface.programs, *documents.programs))),
    )


def _is_other_version(info: LibraryInfo, documents: Documents) -> bool:
    version, installed = documents.version, f"{info.version}."
    is_same = normalize_name(documents.project.removesuffix(version)) in (
        normalize_name(info.name),
        normalize_name(info.distribution),
    )
    return bool(version) and is_same and not installed.startswith(f"{version}.")


def _describe_library(asked: str, name: str, apis: Iterable[ApiDoc], documents: Documents) -> Surface:
    info = LibraryInfo(name, asked, documents.version)
    rows = sorted(apis, key=lambda api: api.path)
    known = {api.path: api.path for api in rows}
    completed = []
    for api in rows:
        see_also = resolve_names(api.see_also, api.path, library=name, known=known)
        completed.append(replace(api, version=info.version, see_also=see_also))
    return Surface(info, tuple(completed), {}, documents.text, documents.programs)


def _missing_notice(one: MissingLibrary, apis: int) -> str:
    source = f"Its API is known from the documents alone ({apis:,} API{'s' * (apis != 1)})"
    if isinstance(one.why, MissingRequirement):
        return (
            f"{one.why.message} {source}. The import was attempted in a process that only reads libraries; "
            "experiments may still be able to import it."
        )
    return f"{one.why.message} {source}, and code that uses it cannot run here: every experiment that imports it fails."


def _unassigned(apis: Iterable[ApiDoc], passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield APIs of no library of this run as passages, unless a passage already contains their description."""
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(_file_of(passage.origin), []).append(passage.text)
    for api in apis:
        opening = api.description[:_OPENING_CHARS]
        if opening and not any(opening in text for text in texts.get(_file_of(api.origin), ())):
            yield Passage("documentation", f"{api.path}{api.signature}", api.description, api.origin)


def _file_of(origin: str) -> str:
    return origin.partition("#")[0].partition(", ")[0]
