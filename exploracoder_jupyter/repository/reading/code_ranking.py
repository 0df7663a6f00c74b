"""Finds code by its similarity with a text: classes without bodies, functions, and snippets.

Similarity is that of words, weighted by their rarity (BM25F, `text.lexical_index`); identifiers count whole and in
parts. The paper embeds with UniXCoder instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from typing import Final, Literal, get_args

import numpy as np
from pydantic import TypeAdapter

from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, pack_arrays, unpack_arrays
from exploracoder_jupyter.repository.reading.python_syntax import parser_of, walk
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex, is_test_file
from exploracoder_jupyter.repository.reading.source_file import Definition
from exploracoder_jupyter.text.lexical_index import Field, LexicalIndex

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
