"""The tools with which a model, or a user, asks about a repository (RRR, section 4.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from exploracoder_jupyter.core.messages import did_you_mean
from exploracoder_jupyter.core.types import Call
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.pipeline.ports import Tool
from exploracoder_jupyter.pipeline.prompting.documentation import shorten
from exploracoder_jupyter.repository.index import RepositoryIndex, suggest_imports, undefined_names
from exploracoder_jupyter.repository.search import (
    CodePiece,
    CodeSearch,
    ExternalBase,
    Member,
    external_class,
    external_members,
    inherited_members,
    lineage,
)
from exploracoder_jupyter.repository.source_files import Definition
from exploracoder_jupyter.text.lexical_index import LexicalIndex

# The six tools of RRR (section 4.2, Table 2, appendix F), as functions of an index.
#
# `get_related_snippets` is independent: it needs only the description. The others answer what a model asks for
# while it corrects its code. Nothing of the repository is imported or run.

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


# The tools that need reasoning, as a model calls them: by a name and one text.
#
# A model writes one call a line, `get_signature: Cart.total`, which any model can do; the lists and forms of calls
# that models know, `- get_signature("Cart.total")`, mean the same.

RELATED_SNIPPETS: Final = "get_related_snippets"
RELEVANT_CODE: Final = "get_relevant_code"
IMPORTS: Final = "get_imports"
DEPENDENT: Final = (
    Tool("get_imports", "import statements for every undefined name of your latest code, all sources of each", "", ""),
    Tool(
        "get_class_info",
        "members of classes of the repository with inherited ones: parameters, types, static, abstract",
        "classes",
        "class names, separated by commas",
    ),
    Tool("get_signature", "all signatures of a method or function", "name", "Class.method, or the name of a function"),
    Tool("get_method_body", "source code of a method or function", "name", "Class.method, or the name of a function"),
    Tool("get_relevant_code", "classes, functions and snippets near to a description", "query", "what you look for"),
)
"""The dependent tools of RRR (appendix F.2); the first needs no argument."""
NAMES: Final = (RELATED_SNIPPETS, *(tool.name for tool in DEPENDENT))
_MOST_CALLS: Final = 8
"""Calls of one reply that are answered."""
_LONGEST_ARGUMENT: Final = 400

_CALL: Final = re.compile(
    rf"^[ \t]*(?:[-*>]|\d+[.)])?[ \t]*[`*]*(?:(?:Tool|Action|Call)[ \t]*\d*[ \t]*:)?[ \t`*]*"
    rf"(?P<name>{'|'.join(tool.name for tool in DEPENDENT)})[`*]*[ \t]*[:(]?(?P<argument>[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_KEYWORD: Final = re.compile(r"\b[a-z_]+[ \t]*=[ \t]*(?=[\"'\w])")
_QUERY: Final = re.compile(r"^query[ \t]*[=:][ \t]*")
_AROUND: Final = " \t\"'`*()[].;"


def parse_tool_request(text: str) -> tuple[str, tuple[Call, ...]]:
    """Return the text of a reply before its first call, and its calls, each once. A reply may contain none."""
    found = list(_CALL.finditer(text))
    calls: dict[Call, None] = {}
    for match in found:
        name = match["name"].lower()
        argument = _query(match["argument"]) if name == RELEVANT_CODE else _names(match["argument"])
        if argument or name == IMPORTS:
            calls[Call(name, argument[:_LONGEST_ARGUMENT])] = None
    thought = text[: found[0].start()] if found else text
    return thought.strip().removeprefix("Thought:").strip(), tuple(calls)[:_MOST_CALLS]


def _names(argument: str) -> str:
    """Return names separated by commas, without the brackets, quotes and keywords around them."""
    parts = (part.strip(_AROUND) for part in _KEYWORD.sub("", argument).split(","))
    return ", ".join(filter(None, parts))


def _query(argument: str) -> str:
    """Return free text, which may be code, without what a call puts around it."""
    text = argument.strip(" \t`*")
    if text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].strip()
    text = _QUERY.sub("", text)
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return (text[1:-1] if quoted else text).strip()


def find(tools: RepositoryTools, call: Call, *, path: str = "", thought: str = "") -> list[Finding]:
    """Return what one of the six tools finds; `path` is the file with the latest code, `thought` why it is called."""
    owner, name = _split_name(call.argument)
    match call.tool:
        case "get_related_snippets":
            return tools.get_related_snippets(call.argument)
        case "get_imports":
            return tools.get_imports(path or call.argument)
        case "get_class_info":
            return tools.get_class_info(call.argument, thought)
        case "get_signature":
            return tools.get_signature(owner, name)
        case "get_method_body":
            return tools.get_method_body(owner, name)
        case _:
            return tools.get_relevant_code(call.argument)


def answer(tools: RepositoryTools, call: Call, *, path: str, thought: str) -> str:
    """Return what a tool finds as text for a model, which states it if that is nothing; see `find`."""
    found = find(tools, call, path=path, thought=thought)
    if found:
        return render_findings(found)
    if call.tool == "get_imports":
        return "Every name is defined."
    return f"Nothing was found. {tools.similar_names(call.argument)}".strip()


def called_as(call: Call) -> str:
    """Return a call as a model writes it."""
    return f"{call.tool}: {call.argument}" if call.argument else call.tool


def _split_name(argument: str) -> tuple[str | None, str]:
    """Return class and method of `Cart.total`, of `Cart, total`, or of `None, total`."""
    parts = [part for part in re.split(r"[,\s.:#]+", argument) if part]
    owner = ".".join(parts[:-1])
    return (None if owner in ("", "None", "null") else owner), parts[-1] if parts else ""
