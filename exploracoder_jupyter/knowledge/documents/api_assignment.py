"""Assigns the APIs described by documents to libraries and completes their paths.

A document may write `mylib.connect`, `connect` or `Client.get`. An API whose path starts with the import name of a
library of the run belongs to that library. Other paths are looked up among the library's known paths; in a library that
only documents describe, they are assumed to be at the top level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.knowledge.documents.document_set import Documents
from exploracoder_jupyter.knowledge.extraction.api_path_resolver import is_public
from exploracoder_jupyter.knowledge.extraction.docstring_examples import MAX_EXAMPLES

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
