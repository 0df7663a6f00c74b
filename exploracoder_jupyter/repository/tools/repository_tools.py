"""The six tools of RRR (section 4.2, Table 2, appendix F), as functions of an index.

`get_related_snippets` is independent: it needs only the description. The others answer what a model asks for while it
corrects its code. Nothing of the repository is imported or run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from exploracoder_jupyter.core.message_formatting import did_you_mean
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten
from exploracoder_jupyter.repository.reading.class_hierarchy import (
    ExternalBase,
    Member,
    external_class,
    external_members,
    inherited_members,
    lineage,
)
from exploracoder_jupyter.repository.reading.code_ranking import CodePiece, CodeSearch
from exploracoder_jupyter.repository.reading.missing_imports import suggest_imports, undefined_names
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.reading.source_file import Definition
from exploracoder_jupyter.text.lexical_index import LexicalIndex

RELATED: Final = 5
"""Snippets that are related to a description (appendix F.1)."""
RELEVANT: Final = 3
"""Structures that are relevant for a query (appendix F.2)."""
MEMBERS: Final = 10
"""Members of a class that are shown (appendix F.2)."""
_LONGEST_BODY: Final = 4000
_LONGEST_PIECE: Final = 3000
_MOST_OF_FILE: Final = 2
"""Related snippets of the same file."""
_MOST_ALIKE: Final = 6
"""Definitions of the same name that are shown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a tool found."""

    title: str
    """What it is: the dotted path of a definition, a name, or a file."""
    place: str
    """File and line; empty for what is not in the repository."""
    text: str


@dataclass(frozen=True)
class RepositoryTools:
    """The tools for one state of a repository."""

    index: RepositoryIndex
    cache: Path | None = None
    """Folder of caches; by default that of the user."""
    patience: float = 0.3
    """Seconds that reading a class of another package may take."""
    python: str = ""
    """Interpreter where other packages are installed; by default the one that runs this."""

    @cached_property
    def search(self) -> CodeSearch:
        """The search for similar code."""
        return CodeSearch.open(self.index, KnowledgeCache(self.cache or user_cache_path("exploracoder_jupyter")))

    def get_related_snippets(self, description: str, *, without: tuple[str, int, int] | None = None) -> list[Finding]:
        """Return the five snippets nearest to a description, at most two of a file.

        These lines of a file are left out, such as those of the target.
        """
        found, files = list[Finding](), Counter[str]()
        for piece, text in self.search.code_first(description, ["snippet"]):
            if files[piece.file] < _MOST_OF_FILE and (without is None or not _overlap(piece, without)):
                files[piece.file] += 1
                found.append(_finding(piece, text))
        return found[:RELATED]

    def get_imports(self, path: str) -> list[Finding]:
        """Return the import statements for every undefined name of a file, with all sources of each name."""
        if path not in self.index.by_path:
            return []
        file = self.index.by_path[path]
        names = undefined_names(self.index, path)
        return [Finding(name, path, "\n".join(suggest_imports(self.index, file, name))) for name in names]

    def get_class_info(self, names: str, thought: str = "") -> list[Finding]:
        """Return the members, inherited ones included, of every class with one of these names, separated by commas.

        Of a class with more than ten, those are shown that are nearest to the thought: why this is asked. Classes of
        other packages are described if the repository has none of that name.
        """
        wanted = names.replace(",", " ").split()
        found = [(name, self.index.classes(name)) for name in wanted]
        own = [(self._describe_class(item, thought) for item in classes) for _, classes in found]
        external = (self._describe_external(name, thought) for name, classes in found if not classes)
        return [*(item for described in own for item in described), *filter(None, external)]

    def get_signature(self, owner: str | None, name: str) -> list[Finding]:
        """Return all signatures of a method, or of a function if `owner` is `None`."""
        found = [
            Finding(self.index.path_of(item), item.place, _described(item)) for item in self._callables(owner, name)
        ]
        classes = self.index.classes(owner or "")
        outside = [base for class_ in classes for base in lineage(self.index, class_)[1]]
        if owner and not classes and (foreign := external_class(self.index, owner)):
            outside = [foreign]
        external = (item for base in outside for item in self._members_of(base) or () if item.name == name)
        return found or [Finding(f"{item.owner}.{name}", "", item.signature) for item in external]

    def get_method_body(self, owner: str | None, name: str) -> list[Finding]:
        """Return the source code of a method or function; of one that is not in the repository the signature."""
        found = [
            Finding(self.index.path_of(item), item.place, shorten(self.index.code(item), _LONGEST_BODY))
            for item in self._callables(owner, name)
        ]
        return found or self.get_signature(owner, name)

    def get_relevant_code(self, query: str) -> list[Finding]:
        """Return the three classes, functions or snippets nearest to a query, classes without bodies."""
        found: list[tuple[CodePiece, str]] = []
        for piece, text in self.search.code_first(query):
            if not any(_overlap(piece, (known.file, known.line, known.end)) for known, _ in found):
                found.append((piece, text))
            if len(found) == RELEVANT:
                break
        return [_finding(piece, text) for piece, text in found]

    def similar_names(self, name: str) -> str:
        """Return a sentence that suggests a name of the repository in place of an unknown one; empty if none is."""
        return did_you_mean(name.rpartition(".")[2], self.index.definitions).strip()

    def _describe_class(self, owner: Definition, thought: str) -> Finding:
        members = list(inherited_members(self.index, owner))
        known = {item.definition.name for item in members}
        outside = [(base, self._members_of(base)) for base in lineage(self.index, owner)[1]]
        inherited = (Member(item, base.name) for base, items in outside for item in items or ())
        members += [item for item in inherited if item.definition.name not in known]
        unread = [f"# The members of {base.name} could not be read." for base, items in outside if items is None]
        head = [f'"""{owner.summary}"""'] if owner.summary else []
        lines = [*head, *_member_lines(members, thought), *unread]
        text = "\n".join([owner.signature, *(f"    {line}" for line in lines)])
        return Finding(self.index.path_of(owner), owner.place, text)

    def _describe_external(self, name: str, thought: str) -> Finding | None:
        base = external_class(self.index, name)
        definitions = self._members_of(base) if base else None
        if base is None or definitions is None:
            return None
        lines = _member_lines([Member(item, "") for item in definitions], thought)
        return Finding(base.name, base.statement, "\n".join([f"class {base.name}", *(f"    {line}" for line in lines)]))

    def _members_of(self, base: ExternalBase) -> tuple[Definition, ...] | None:
        return external_members(self.index.root, base, seconds=self.patience, python=self.python)

    def _callables(self, owner: str | None, name: str) -> list[Definition]:
        """Return the functions or methods of a name, of the nearest class that has it, every class of the name."""
        found = []
        if owner is None:
            found = [item for item in self.index.definitions.get(name, ()) if item.kind == "function"]
        for class_ in self.index.classes(owner) if owner else ():
            members = (item.definition for item in inherited_members(self.index, class_))
            named = [item for item in members if item.name == name and item.kind != "attribute"]
            found += [item for item in named if item.owner == named[0].owner]
        return found[:_MOST_ALIKE]


def render_findings(findings: Iterable[Finding]) -> str:
    """Return the findings as text: each with its title and place, then what was found."""
    places = ((item, f" ({item.place})" if item.place and item.place != item.title else "") for item in findings)
    texts = (f"{item.title}{place}\n{item.text or '(nothing in the repository defines it)'}" for item, place in places)
    return "\n\n".join(texts)


def _finding(piece: CodePiece, text: str) -> Finding:
    return Finding(piece.title, f"{piece.file}:{piece.line}", shorten(text, _LONGEST_PIECE))


def _overlap(piece: CodePiece, lines: tuple[str, int, int]) -> bool:
    file, first, last = lines
    return piece.file == file and piece.line <= last and first <= piece.end


def _described(item: Definition) -> str:
    notes = f"  [{', '.join(item.notes)}]" if item.notes else ""
    return f"{item.signature}{notes}"


def _member_line(member: Member) -> str:
    item = member.definition
    kind = "property: " if item.kind == "property" else ""
    origin = f"  (from {member.origin})" if member.origin else ""
    summary = f"  # {item.summary}" if item.summary else ""
    return f"{kind}{_described(item)}{origin}{summary}"


def _member_lines(members: Sequence[Member], thought: str) -> Iterator[str]:
    shown = _nearest(members, thought)
    yield from map(_member_line, shown)
    if len(members) > len(shown):
        yield f"... and {len(members) - len(shown)} more members"


def _nearest(members: Sequence[Member], thought: str) -> list[Member]:
    """Return the constructor and the members nearest to a thought, else the first public ones, in their own order."""
    if len(members) <= MEMBERS:
        return list(members)
    texts = [f"{item.definition.name} {item.definition.signature} {item.definition.summary}" for item in members]
    ranked = LexicalIndex.build(texts).best(thought) if thought.strip() else []
    names = [item.definition.name for item in members]
    constructor = [place for place, name in enumerate(names) if name == "__init__"]
    public = [place for place, name in enumerate(names) if not name.startswith("_")]
    order = dict.fromkeys([*constructor, *ranked, *public, *range(len(members))])
    return [members[place] for place in sorted(list(order)[:MEMBERS])]
