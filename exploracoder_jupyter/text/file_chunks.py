"""Splits files into chunks that can be searched and shown: functions and classes, sections, code cells."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from exploracoder_jupyter.core.python_code import parse_valid_python

MAX_CHUNK_CHARS = 2_400
"""Characters of one chunk; a longer function or section is truncated."""

_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_EXPLORATION_MAGIC = re.compile(r"\s*%%?explor")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file."""

    title: str
    text: str
    place: str
    """Position in the file: `line 12`, `cell 3`."""
    code: bool


def split_file(path: str, text: str) -> Iterator[Chunk]:
    """Split a file according to its suffix; yields nothing for other suffixes or files that cannot be parsed."""
    kinds = {".py": split_python, ".md": split_markdown, ".ipynb": split_notebook}
    kind = kinds.get(PurePath(path).suffix)
    for chunk in kind(text) if kind else ():
        if chunk.text.strip():
            yield chunk


def split_python(text: str) -> Iterator[Chunk]:
    """Yield the top-level functions and classes, long classes by method, and the code between them."""
    tree = parse_valid_python(text)
    if tree is None:
        return
    lines = text.splitlines()
    loose: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _statement_chunk(lines, loose)
            loose = []
            yield from _definition_chunks(lines, statement)
        else:
            loose.append(statement)
    yield from _statement_chunk(lines, loose)


def split_markdown(text: str) -> Iterator[Chunk]:
    """Yield each section under its heading; a `#` in a fenced block does not start a section."""
    title, began, section, fenced = "", 1, list[str](), False
    for number, line in enumerate(text.splitlines(), start=1):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            yield Chunk(title, _truncate(section), f"line {began}", code=False)
            title, began, section = heading[1], number, []
        else:
            section.append(line)
    yield Chunk(title, _truncate(section), f"line {began}", code=False)


def split_notebook(text: str) -> Iterator[Chunk]:
    """Yield the code cells, without their outputs, each titled by the heading above it.

    Exploration cells and the traces of explorations are left out.
    """
    try:
        content = json.loads(text)
        if "exploracoder_jupyter" in content["metadata"]:
            return
        cells = [(str(cell["cell_type"]), "".join(cell["source"])) for cell in content["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    title = ""
    for number, (kind, source) in enumerate(cells, start=1):
        if kind == "markdown":
            found = [match[1] for line in source.splitlines() if (match := _HEADING.match(line))]
            title = found[-1] if found else title
        elif kind == "code" and not _EXPLORATION_MAGIC.match(source):
            yield Chunk(
                title, _truncate(source.splitlines()), f"cell {number}", code=parse_valid_python(source) is not None
            )


def _definition_chunks(
    lines: Sequence[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> Iterator[Chunk]:
    text = _lines(lines, node, node)
    if isinstance(node, ast.ClassDef) and len(text) > MAX_CHUNK_CHARS:
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
        for method in methods:
            code = f"class {node.name}:\n{_lines(lines, method, method)}"
            yield _code_chunk(f"{node.name}.{method.name}", code, method)
    else:
        yield _code_chunk(node.name, text, node)


def _statement_chunk(lines: Sequence[str], statements: Sequence[ast.stmt]) -> Iterator[Chunk]:
    if statements and not all(isinstance(one, ast.Import | ast.ImportFrom) for one in statements):
        yield _code_chunk("", _lines(lines, statements[0], statements[-1]), statements[0])


def _code_chunk(title: str, code: str, first: ast.stmt) -> Chunk:
    return Chunk(title, code[:MAX_CHUNK_CHARS], f"line {first.lineno}", code=len(code) <= MAX_CHUNK_CHARS)


def _lines(lines: Sequence[str], first: ast.stmt, last: ast.stmt) -> str:
    decorators = getattr(first, "decorator_list", [])
    began = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[began - 1 : last.end_lineno])


def _truncate(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")[:MAX_CHUNK_CHARS]
