"""Whose APIs documents describe: their paths from an import name on, each once.

A document may write `mylib.connect`, `connect` or `Client.get`. What begins with the import name of a library of the
run is its own. What does not is looked for among the library's known paths; of a library that only documents describe,
it is taken to be at its top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.knowledge.documents.document_set import Documents
from exploracoder_jupyter.knowledge.extraction.docstring_examples import MOST_EXAMPLES
from exploracoder_jupyter.knowledge.extraction.written_paths import is_public

_LONGEST_ADDED = 4_000
"""Characters that a document adds to a docstring."""
_SHORTEST_ALIKE = 3
"""Letters that an import name has at least that is part of what was asked for, or has that as a part."""
_SAME = 0.7
"""So much of a text's words in another make it a repetition."""


@dataclass(slots=True)
class Sorted:
    """The APIs of documents, by the library that they belong to."""

    by_library: dict[str, dict[str, ApiDoc]] = field(default_factory=dict)
    """Import name, then path."""
    foreign: list[ApiDoc] = field(default_factory=list)
    """Of no library of this run."""


def import_name(asked: str, documents: Documents, taken: Iterable[str]) -> str:
    """The import name of a library that only documents describe: what was asked for, as their paths spell it; or what
    most of their paths begin with, where that is like it, or the documents are of the distribution that was asked for.
    """
    plain = asked.replace("-", "_").replace(" ", "_")
    roots = Counter(api.library for api in documents.apis if api.library and api.library not in set(taken))
    wanted = letters(plain.partition(".")[0])
    same = next((root for root in roots if letters(root) == wanted), None)
    if same or not roots:
        return plain if "." in plain else same or plain
    common = roots.most_common(1)[0][0]
    alike = len(common) >= _SHORTEST_ALIKE and (letters(common) in wanted or wanted in letters(common))
    named = letters(documents.project.removesuffix(documents.version)) == letters(asked)
    return common if alike or named else plain


def letters(name: str) -> str:
    """A name as its spellings share it."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def sort_out(apis: Iterable[ApiDoc], known: Mapping[str, Mapping[str, str]], described: Sequence[str]) -> Sorted:
    """The APIs under whole paths.

    `known`: for each library that was read, its paths, and the path that each other name of an API stands for.
    `described`: import names of the libraries that only documents describe.
    """
    sorted_ = Sorted({name: {} for name in (*known, *described)})
    tails = {name: _tails(paths) for name, paths in known.items()}
    for api in apis:
        place = _placed(api, known, tails, described)
        if place is None:
            sorted_.foreign.append(api)
            continue
        library, path = place
        rows = sorted_.by_library[library]
        if path not in known.get(library, ()) and not is_public(path):
            continue
        own = replace(api, path=path, library=library)
        rows[path] = together(rows[path], own) if path in rows else own
    return sorted_


def _placed(
    api: ApiDoc,
    known: Mapping[str, Mapping[str, str]],
    tails: Mapping[str, Mapping[str, str]],
    described: Sequence[str],
) -> tuple[str, str] | None:
    """The library and the whole path of an API; None where it belongs to none."""
    root = api.path.partition(".")[0]
    for library, paths in known.items():
        if root == library.partition(".")[0] and "." in api.path:
            return library, _resolved(api.path, paths) or api.path
        if not api.library and api.path in tails[library]:
            return library, tails[library][api.path]
    for library in described:
        if root == library.partition(".")[0] and "." in api.path:
            return library, api.path
    if not described or api.library or (not api.signature and "." in api.path and not root[:1].isupper()):
        return None
    return described[0], f"{described[0]}.{api.path}"


def _resolved(path: str, paths: Mapping[str, str]) -> str | None:
    """What a path stands for, where it or the path of its owner is known."""
    if path in paths or "." not in path:
        return paths.get(path)
    owner, _, name = path.rpartition(".")
    above = _resolved(owner, paths)
    return paths.get(f"{above}.{name}") if above and above != owner else None


def _tails(paths: Mapping[str, str]) -> dict[str, str]:
    """What the last two parts of a path stand for, the shortest path that ends with them; one alone at the top only:
    what documents call `open` is rarely some class's method."""
    found: dict[str, str] = {}
    for path in sorted(set(paths.values()), key=lambda path: (path.count("."), path), reverse=True):
        parts = path.split(".")
        if len(parts) == 2:
            found[parts[-1]] = path
        found[".".join(parts[-2:])] = path
    return found


def together(first: ApiDoc, other: ApiDoc) -> ApiDoc:
    """One API of two accounts of it. The first is believed where they differ; the other adds what is missing."""
    examples = dict.fromkeys((*first.examples, *other.examples))
    return replace(
        first,
        kind=first.kind if first.signature or first.description else other.kind,
        signature=first.signature or other.signature,
        description=_described(first, other),
        examples=tuple(examples)[:MOST_EXAMPLES],
        deprecated=first.deprecated or other.deprecated,
        parameters=_joined(first.parameters, other.parameters),
        returns=first.returns or other.returns,
        notes=tuple(dict.fromkeys((*first.notes, *other.notes))),
        origin=first.origin if first.description or not other.description else other.origin,
    )


def _described(first: ApiDoc, other: ApiDoc) -> str:
    if not first.description or not other.description or _repeats(other.description, first.description):
        return first.description or other.description
    if _repeats(first.description, other.description) and first.origin:
        return other.description
    return f"{first.description}\n\nFrom {other.origin}:\n\n{other.description[:_LONGEST_ADDED]}"


def _repeats(text: str, other: str) -> bool:
    """Whether what a text says is said in the other, too."""
    words = set(text.split())
    return len(words & set(other.split())) >= _SAME * len(words)


def _joined(first: Sequence[Parameter], other: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The first parameters, with what the others say of them; the others where there are none."""
    told = {row.name.lstrip("*"): row for row in other}
    return tuple(_filled(row, told.get(row.name.lstrip("*"), row)) for row in first) or tuple(other)


def _filled(row: Parameter, other: Parameter) -> Parameter:
    return Parameter(row.name, row.type or other.type, row.default or other.default, row.about or other.about)
