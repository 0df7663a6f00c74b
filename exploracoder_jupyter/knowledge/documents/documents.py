"""What was read from documents: APIs assigned to libraries, and passages short enough for a prompt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement
from exploracoder_jupyter.core.types import ApiDoc, LibraryInfo, Parameter, Passage
from exploracoder_jupyter.knowledge.documents.signature_parser import return_type
from exploracoder_jupyter.knowledge.extraction import docstrings
from exploracoder_jupyter.knowledge.extraction.docstrings import MAX_EXAMPLES
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface, is_public, resolve_names

# What was read from one document, and from all documents of a library.

_MAX_LISTED = 5
_MAX_EXAMPLE_CHARS = 60_000
"""Characters of a document that are searched for programs; the search may take quadratic time."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read. An API's `library` is empty if no document shows that its path starts with an import name."""

    apis: tuple[ApiDoc, ...] = ()
    passages: tuple[Passage, ...] = ()
    text: str = ""
    """Text of the front pages: READMEs and index pages."""
    programs: tuple[str, ...] = ()
    project: str = ""
    """Name and version, if a document contains them."""
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    """Reasons for which documents were left out, with their counts."""
    too_slow: tuple[tuple[str, float], ...] = ()
    """Documents left out because reading them took too long, with their time limit in seconds."""
    reopened: bool = False
    digest: str = ""
    """Hash of everything that was read and of the format version."""

    @property
    def version(self) -> str:
        """The last word of the project, if it is a version."""
        last = self.project.rpartition(" ")[2]
        return last if last[:1].isdigit() else ""

    @property
    def left_out(self) -> str:
        """A message about what was left out, except for slow documents; empty if there is nothing."""
        if not self.skipped:
            return ""
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in self.skipped)
        return f"Documentation files that were left out: {reasons}."

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages about what was not read."""
        slow = [f"Reading {name!r} takes longer than {seconds:g} s; it is left out." for name, seconds in self.too_slow]
        more = f"{len(slow) - _MAX_LISTED:,} more documentation files take too long to read; they are left out."
        return tuple(filter(None, [self.left_out, *slow[:_MAX_LISTED], more if len(slow) > _MAX_LISTED else ""]))


def complete_api(api: ApiDoc) -> ApiDoc:
    """Fill in examples, parameters, result, version notes and deprecation from an API's description and signature."""
    documented = docstrings.parse_docstring(api.description)
    return replace(
        api,
        examples=api.examples or docstrings.extract_examples(f"{api.description}\n")[: docstrings.MAX_EXAMPLES],
        deprecated=api.deprecated or docstrings.find_deprecation(api.description),
        parameters=docstrings.merge_parameters((), api.signature, (*documented.parameters, *api.parameters)),
        returns=docstrings.merge_returns(api.returns or return_type(api.signature), documented.returns),
        notes=api.notes or documented.notes,
        see_also=api.see_also or documented.see_also,
    )


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading."""

    title: str
    text: str
    place: str = ""
    """Position in the document: an anchor, `line 12`, `cell 3`."""
    code: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One parsed document.

    An API's `origin` is its position in the document. Its `library` is empty if the document does not show that its
    path starts with an import name.
    """

    title: str = ""
    sections: tuple[Section, ...] = ()
    apis: tuple[ApiDoc, ...] = ()
    programs: tuple[str, ...] = ()
    project: str = ""
    """What is documented, followed by a space and the version, if the document says so."""

    def __bool__(self) -> bool:
        return bool(self.sections or self.apis or self.programs)


def find_programs(text: str) -> tuple[str, ...]:
    """Return the runnable code of a document."""
    return docstrings.extract_examples(f"{text[:_MAX_EXAMPLE_CHARS]}\n")


# Splits sections into passages: short enough for a prompt, and split within a block of code only if it is too long.

MAX_PASSAGE_CHARS = 1_800
MIN_PASSAGE_CHARS = 40
"""A shorter text is only the remainder of a heading."""

_FENCE = re.compile(r"^[ \t]*(```|~~~)")


def page_passages(file: str, page: Page) -> Iterator[Passage]:
    """Yield the passages of a document named `file`."""
    seen: Counter[str] = Counter()
    for section in page.sections:
        for text in split_text(section.text):
            if len(text) < MIN_PASSAGE_CHARS:
                continue
            place = at_place(file, section.place)
            seen[place] += 1
            origin = place if seen[place] == 1 else f"{place}, part {seen[place]}"
            title = ": ".join(dict.fromkeys(filter(None, (page.title, section.title))))[:200]
            yield Passage("documentation", title or file, text, origin, code=section.code)


def split_text(text: str) -> Iterator[str]:
    """Split a text into parts of at most `MAX_PASSAGE_CHARS` characters, at blank lines if possible."""
    part = ""
    for block in _blocks(text):
        if part and len(part) + len(block) + 2 > MAX_PASSAGE_CHARS:
            yield part
            part = ""
        part = f"{part}\n\n{block}" if part else block
        while len(part) > MAX_PASSAGE_CHARS:
            cut = part.rfind("\n", MAX_PASSAGE_CHARS // 2, MAX_PASSAGE_CHARS)
            cut = cut if cut > 0 else MAX_PASSAGE_CHARS
            yield part[:cut].strip("\n")
            part = part[cut:].strip("\n")
    if part.strip():
        yield part


def _blocks(text: str) -> Iterator[str]:
    block: list[str] = []
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = mark[1] if not fence else ("" if mark[1] == fence else fence)
        if line.strip() or fence:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def at_place(file: str, place: str) -> str:
    """Return the origin of what is at a place of a document."""
    if not place:
        return file
    return f"{file}{place}" if place.startswith("#") else f"{file}, {place}"


# Assigns the APIs described by documents to libraries and completes their paths.
#
# A document may write `mylib.connect`, `connect` or `Client.get`. An API whose path starts with the import name of
# a library of the run belongs to that library. Other paths are looked up among the library's known paths; in a
# library that only documents describe, they are assumed to be at the top level.

_MAX_ADDED_CHARS = 4_000
_MIN_NAME_CHARS = 3
_REPETITION_OVERLAP = 0.7


@dataclass(slots=True)
class AssignedApis:
    """The APIs of documents, grouped by library."""

    by_library: dict[str, dict[str, ApiDoc]] = field(default_factory=dict)
    foreign: list[ApiDoc] = field(default_factory=list)


def guess_import_name(asked: str, documents: Documents, taken: Iterable[str]) -> str:
    """Determine the import name of a library that only documents describe.

    This is the requested name as the documents' paths spell it. If no path starts with it, it is the name that most
    paths start with, provided that the two names are similar or the documents belong to the requested distribution.
    """
    plain = asked.replace("-", "_").replace(" ", "_")
    roots = Counter(api.library for api in documents.apis if api.library and api.library not in set(taken))
    wanted = normalize_name(plain.partition(".")[0])
    same = next((root for root in roots if normalize_name(root) == wanted), None)
    if same or not roots:
        return plain if "." in plain else same or plain
    common = roots.most_common(1)[0][0]
    alike = len(common) >= _MIN_NAME_CHARS and (normalize_name(common) in wanted or wanted in normalize_name(common))
    named = normalize_name(documents.project.removesuffix(documents.version)) == normalize_name(asked)
    return common if alike or named else plain


def normalize_name(name: str) -> str:
    """Normalize a name so that its different spellings compare equal."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def assign_apis(
    apis: Iterable[ApiDoc], known: Mapping[str, Mapping[str, str]], described: Sequence[str]
) -> AssignedApis:
    """Assign each API to a library and complete its path.

    `known`: for each library that was read, maps every name of an API to its path. `described`: import names of the
    libraries that only documents describe.
    """
    assigned = AssignedApis({name: {} for name in (*known, *described)})
    tails = {name: _paths_by_tail(paths) for name, paths in known.items()}
    for api in apis:
        place = _locate(api, known, tails, described)
        if place is None:
            assigned.foreign.append(api)
            continue
        library, path = place
        rows = assigned.by_library[library]
        if path not in known.get(library, ()) and not is_public(path):
            continue
        own = replace(api, path=path, library=library)
        rows[path] = merge_apis(rows[path], own) if path in rows else own
    return assigned


def _locate(
    api: ApiDoc,
    known: Mapping[str, Mapping[str, str]],
    tails: Mapping[str, Mapping[str, str]],
    described: Sequence[str],
) -> tuple[str, str] | None:
    root = api.path.partition(".")[0]
    for library, paths in known.items():
        if root == library.partition(".")[0] and "." in api.path:
            return library, _resolve(api.path, paths) or api.path
        if not api.library and api.path in tails[library]:
            return library, tails[library][api.path]
    for library in described:
        if root == library.partition(".")[0] and "." in api.path:
            return library, api.path
    if not described or api.library or (not api.signature and "." in api.path and not root[:1].isupper()):
        return None
    return described[0], f"{described[0]}.{api.path}"


def _resolve(path: str, paths: Mapping[str, str]) -> str | None:
    if path in paths or "." not in path:
        return paths.get(path)
    owner, _, name = path.rpartition(".")
    above = _resolve(owner, paths)
    return paths.get(f"{above}.{name}") if above and above != owner else None


def _paths_by_tail(paths: Mapping[str, str]) -> dict[str, str]:
    """Map the last two parts of each path to the shortest path that ends with them.

    A single name is mapped only at the top level: what documents call `open` is rarely a class's method.
    """
    found: dict[str, str] = {}
    for path in sorted(set(paths.values()), key=lambda path: (path.count("."), path), reverse=True):
        parts = path.split(".")
        if len(parts) == 2:
            found[parts[-1]] = path
        found[".".join(parts[-2:])] = path
    return found


def merge_apis(first: ApiDoc, other: ApiDoc) -> ApiDoc:
    """Merge two descriptions of one API. The first one takes precedence; the other adds what is missing."""
    examples = dict.fromkeys((*first.examples, *other.examples))
    return replace(
        first,
        kind=first.kind if first.signature or first.description else other.kind,
        signature=first.signature or other.signature,
        description=_merge_descriptions(first, other),
        examples=tuple(examples)[:MAX_EXAMPLES],
        deprecated=first.deprecated or other.deprecated,
        parameters=_merge_parameters(first.parameters, other.parameters),
        returns=first.returns or other.returns,
        notes=tuple(dict.fromkeys((*first.notes, *other.notes))),
        origin=first.origin if first.description or not other.description else other.origin,
    )


def _merge_descriptions(first: ApiDoc, other: ApiDoc) -> str:
    if not first.description or not other.description or _repeats(other.description, first.description):
        return first.description or other.description
    if _repeats(first.description, other.description) and first.origin:
        return other.description
    return f"{first.description}\n\nFrom {other.origin}:\n\n{other.description[:_MAX_ADDED_CHARS]}"


def _repeats(text: str, other: str) -> bool:
    words = set(text.split())
    return len(words & set(other.split())) >= _REPETITION_OVERLAP * len(words)


def _merge_parameters(first: Sequence[Parameter], other: Sequence[Parameter]) -> tuple[Parameter, ...]:
    by_name = {row.name.lstrip("*"): row for row in other}
    pairs = ((row, by_name.get(row.name.lstrip("*"), row)) for row in first)
    return tuple(
        Parameter(row.name, row.type or more.type, row.default or more.default, row.about or more.about)
        for row, more in pairs
    ) or tuple(other)


# Merges documents with the libraries that were read.
#
# Documents add to known APIs, describe further APIs, and describe whole libraries that cannot be read.

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
