"""Finds members of classes with those they inherit, and code by its similarity with a text."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice, pairwise
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from pydantic import TypeAdapter

from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, pack_arrays, unpack_arrays
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.repository.index import RepositoryIndex, is_test_file
from exploracoder_jupyter.repository.source_files import Definition, DefinitionKind, SourceFile, parser_of, walk
from exploracoder_jupyter.text.lexical_index import Field, LexicalIndex

if TYPE_CHECKING:
    from jedi import Project


# The members of a class with those that it inherits, in the repository by the index and elsewhere by jedi.
#
# Jedi reads the sources and stubs of installed packages; it imports none of the repository.

_MAX_BASES: Final = 40
"""Classes that are followed from one class."""
_PARAMETERS: Final = re.compile(r"\w\s*\(([^()]*)\)(?:\s*throws [\w., ]+)?$")
_jedi_lock = Lock()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a class, its own or inherited."""

    definition: Definition
    origin: str
    """Dotted path of the class that defines it; empty for the class itself."""


@dataclass(frozen=True, slots=True)
class ExternalBase:
    """A base class that the repository does not define."""

    name: str
    """As written: `dict`, `abc.ABC`, `models.Model`."""
    statement: str
    """The import statement that binds its first part; empty for a builtin."""
    file: str
    """The file that names it."""


_known: dict[tuple[Path, str, ExternalBase], tuple[Definition, ...] | None] = {}
_NOT_INHERITED: Final = ("builtins.type.", "typing._")
"""Beginnings of the paths of what jedi offers for a class without instances having it: metaclass, aliases."""


def lineage(index: RepositoryIndex, owner: Definition) -> tuple[list[Definition], list[ExternalBase]]:
    """Return a class with its bases in the repository, breadth first, each once, and its other bases."""
    classes, external = [owner], dict[ExternalBase, None]()
    for current in classes:  # grows while it is iterated
        file = index.by_path[current.file]
        for name in current.bases:
            base = _resolve_class(index, file, name)
            if base is None:
                first = name.partition(".")[0]
                statement = next((item.statement for item in file.imports if item.name == first), "")
                external[ExternalBase(name, statement, file.path)] = None
            elif base not in classes and len(classes) < _MAX_BASES:
                classes.append(base)
    return classes, list(external)


def inherited_members(index: RepositoryIndex, owner: Definition) -> Iterator[Member]:
    """Yield the members of a class in the repository; an overridden one only where it is overridden last."""
    seen: set[tuple[str, str]] = set()
    for place, current in enumerate(lineage(index, owner)[0]):
        origin = index.path_of(current) if place else ""
        own = [item for item in index.members(current) if not place or item.name != current.name]
        yield from (Member(item, origin) for item in own if _overridden_as(item) not in seen)
        seen |= {_overridden_as(item) for item in own}


def _overridden_as(item: Definition) -> tuple[str, str]:
    """Return what two members have in common of which one overrides the other: in Java also the parameters."""
    parameters = _PARAMETERS.search(item.signature) if item.file.endswith(".java") else None
    return item.name, parameters[1] if parameters else ""


def _resolve_class(index: RepositoryIndex, file: SourceFile, name: str) -> Definition | None:
    """Return the class of the repository that a name means in a file; `None` if it is defined elsewhere."""
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    found = [item for item in index.definitions.get(last, ()) if item.kind == "class"]
    if own := [item for item in found if item.file == file.path]:
        return own[0]
    modules = [item.module for item in file.imports if item.name == first]
    if file.language == "java":
        modules.append(file.module)
    for item in found:
        # the imported module, or one below it: a package re-exports what its modules define
        if any(f"{index.by_path[item.file].module}.".startswith(f"{module}.") for module in modules):
            return item
    is_foreign = all(module.partition(".")[0] not in index.roots for module in modules)
    return found[0] if len(found) == 1 and not is_foreign else None


def external_members(
    root: Path, base: ExternalBase, *, seconds: float, python: str = ""
) -> tuple[Definition, ...] | None:
    """Return the public members of a class that is installed; `None` if jedi finds no such class, or not in time.

    `python` is the interpreter where it is installed; by default the one that runs this. Reading a large package for
    the first time may take jedi much longer than a look-up may last: later look-ups find it.
    """
    if not base.file.endswith(".py"):
        return ()
    reader = Thread(target=_read_external, args=(root, base, python), daemon=True)
    reader.start()
    reader.join(scale_limit(seconds))
    return _known.get((root, python, base))


@heuristic("reading an external class", lambda root, base, python: None)
def _read_external(root: Path, base: ExternalBase, python: str) -> None:
    import jedi  # takes a third of a second and is rarely needed

    with _jedi_lock:
        if (root, python, base) in _known:
            return
        try:
            project = _project(root, python)
        except jedi.InvalidPythonEnvironment:  # of another machine
            return
        script = jedi.Script(f"{base.statement}\n{base.name}.", path=root / base.file, project=project)
        found = []
        for item in script.complete():
            if not item.name.startswith("_") and not (item.full_name or "").startswith(_NOT_INHERITED):
                signatures = item.get_signatures() if item.type == "function" else []
                signature = f"def {signatures[0].to_string()}" if signatures else item.name
                kind: DefinitionKind = "method" if item.type == "function" else "attribute"
                found.append(Definition(kind, item.name, base.name, "", 0, 0, signature))
        exists = found or script.infer(2, len(base.name) - 1)
        _known[root, python, base] = tuple(found) if exists else None


@cache
def _project(root: Path, python: str) -> Project:
    """Return jedi's project, which keeps a process of another interpreter; an error of jedi's if it has none."""
    import jedi

    source = [str(root / "src")]
    project = jedi.Project(root, environment_path=python or None, added_sys_path=source, load_unsafe_extensions=False)
    project.get_environment()
    return project


def external_class(index: RepositoryIndex, name: str) -> ExternalBase | None:
    """Return a class of another package that files of the repository import, or a builtin one, by its name."""
    first = name.partition(".")[0]
    for file, item in index.imports.get(first, ()):
        if item.module.partition(".")[0] not in index.roots:
            return ExternalBase(name, item.statement, file.path)
    if first != name:  # a dotted path
        return ExternalBase(name, f"import {name.rpartition('.')[0]}", "x.py")
    return ExternalBase(name, "", "x.py") if isinstance(getattr(builtins, name, None), type) else None


# Finds code by its similarity with a text: classes without bodies, functions, and snippets.
#
# Similarity is that of words, weighted by their rarity (BM25F, `text.lexical_index`); identifiers count whole and
# in parts. The paper embeds with UniXCoder instead.

_SNIPPET_LINES: Final = 40
_LEAST_LINES: Final = 10
"""A definition starts a new snippet if the one before has as many lines."""
_RERANKED: Final = 60
"""The nearest pieces, of which code comes first."""
_MOST_PROSE: Final = 0.6
"""Share of comments and documentation up to which a snippet counts as code."""
_PROSE: Final = frozenset({"comment", "string", "import_statement", "import_from_statement"})
_BESIDE_CODE: Final = re.compile(r"(^|/)(docs?|docs_src|examples?|samples?|benchmarks?)/")
_NAME_WEIGHT: Final = 3.0
_FORMAT: Final = "code pieces 1"
"""Changes when the pieces are made in another way."""

CodeKind = Literal["class", "function", "snippet"]


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A part of a file that can be retrieved."""

    kind: CodeKind
    title: str
    """Dotted path of a class or function; the file of a snippet."""
    file: str
    line: int
    """First line, counted from 1."""
    end: int
    """Last line."""


_PIECES: TypeAdapter[list[CodePiece]] = TypeAdapter(list[CodePiece])


@dataclass(frozen=True, slots=True)
class CodeSearch:
    """A search among the snippets of a repository, and among its classes and functions."""

    index: RepositoryIndex
    pieces: Sequence[CodePiece]
    words: LexicalIndex
    prose: dict[str, frozenset[int]] = field(default_factory=dict)
    """Rows without code, of the files that were asked about."""

    @classmethod
    def open(cls, index: RepositoryIndex, cache: KnowledgeCache) -> CodeSearch:
        """Build the search, or restore the one that was built for the same state of the repository."""
        key = digest(str(index.root), index.digest, _FORMAT)
        with suppress(ValueError, KeyError):
            arrays = unpack_arrays(cache.get("passages", key) or b"")
            return cls(index, _PIECES.validate_json(arrays.pop("pieces").tobytes()), LexicalIndex(arrays))
        pieces, texts = [*_snippets(index), *_structures(index)], list[str]()
        for _, same in groupby(pieces, lambda piece: piece.file):
            texts += _texts(index, list(same))
        titles = Field([piece.title for piece in pieces], _NAME_WEIGHT)
        words = LexicalIndex.of([titles, Field(texts)])
        encoded = np.frombuffer(_PIECES.dump_json(pieces), dtype=np.uint8)
        cache.put("passages", key, pack_arrays({**words.arrays(), "pieces": encoded}))
        return cls(index, pieces, words)

    def nearest(self, query: str, kinds: Collection[CodeKind] = get_args(CodeKind)) -> Iterator[tuple[CodePiece, str]]:
        """Yield the pieces of these kinds that share words with the query, nearest first, with their texts."""
        for row in self.words.best(query) if self.pieces else []:
            if (piece := self.pieces[row]).kind in kinds:
                yield piece, _texts(self.index, [piece])[0]

    def code_first(
        self, query: str, kinds: Collection[CodeKind] = get_args(CodeKind)
    ) -> Iterator[tuple[CodePiece, str]]:
        """Yield the nearest pieces: code before tests, examples and documentation; of equal texts one."""
        nearest = list(islice(self.nearest(query, kinds), _RERANKED))
        known = set[str]()
        for piece, text in sorted(nearest, key=lambda item: self._is_beside_code(item[0])):
            if (plain := "".join(text.split())) not in known:
                known.add(plain)
                yield piece, text

    def _is_beside_code(self, piece: CodePiece) -> bool:
        if is_test_file(piece.file) or _BESIDE_CODE.search(piece.file):
            return True
        prose = self._prose_rows(piece.file) if piece.kind == "snippet" else frozenset()
        lines = self.index.lines(piece.file)[piece.line - 1 : piece.end]
        rows = [row for row, line in enumerate(lines, piece.line - 1) if line.strip()]
        return len(prose.intersection(rows)) > _MOST_PROSE * len(rows)

    def _prose_rows(self, path: str) -> frozenset[int]:
        """Return the rows of a Python file that are comments, imports, or inside of strings of several lines."""
        if not path.endswith(".py"):
            return frozenset()
        if path not in self.prose:
            root = parser_of("python").parse("\n".join(self.index.lines(path)).encode()).root_node
            texts = (node for node in walk(root) if node.type in _PROSE)
            spans = ((node.start_point.row, node.end_point.row, node.type) for node in texts)
            rows = (range(start, end + 1) for start, end, kind in spans if kind != "string" or end > start)
            self.prose[path] = frozenset(row for span in rows for row in span)
        return self.prose[path]


def _snippets(index: RepositoryIndex) -> Iterator[CodePiece]:
    """Divide the repository into snippets of at most 40 lines, which preferably begin with a definition."""
    for file in index.files:
        length = len(index.lines(file.path))
        starts = {item.line - 1 for item in file.definitions if item.kind != "attribute"}
        begins = [0]
        for start in [*sorted(start for start in starts if start < length), length]:
            begins += range(begins[-1] + _SNIPPET_LINES, start, _SNIPPET_LINES)
            if start - begins[-1] >= _LEAST_LINES and start < length:
                begins.append(start)
        for begin, end in pairwise([*begins, length]):
            yield CodePiece("snippet", file.path, file.path, begin + 1, end)


def _structures(index: RepositoryIndex) -> Iterator[CodePiece]:
    for file in index.files:
        for item in file.definitions:
            if item.kind == "class" or item.kind == "function":
                yield CodePiece(item.kind, index.path_of(item), item.file, item.line, item.end)


def _texts(index: RepositoryIndex, pieces: Sequence[CodePiece]) -> list[str]:
    """Return the texts of pieces of one file: the code, or of a class the signatures in place of the bodies."""
    lines = index.lines(pieces[0].file)
    classes = {
        (item.line, index.path_of(item)): item
        for item in index.by_path[pieces[0].file].definitions
        if item.kind == "class"
    }
    return [
        "\n".join(_outline(index, classes[piece.line, piece.title]))
        if piece.kind == "class"
        else "\n".join(lines[piece.line - 1 : piece.end]).strip("\n")
        for piece in pieces
    ]


def _outline(index: RepositoryIndex, owner: Definition) -> Iterator[str]:
    yield owner.signature
    if owner.summary:
        yield f'    """{owner.summary}"""'
    for member in index.members(owner):
        yield f"    {member.signature}  # {member.summary}" if member.summary else f"    {member.signature}"
