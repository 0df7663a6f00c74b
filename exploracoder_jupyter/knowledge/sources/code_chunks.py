"""Files in pieces that can be found and shown: functions and classes, sections, code cells."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from exploracoder_jupyter.knowledge.sources.credential_removal import parsed

LONGEST = 2_400
"""Characters of one piece; a longer function or section is cut."""

_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_OURS = re.compile(r"\s*%%?explor")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file."""

    title: str
    text: str
    place: str
    """Within the file: `line 12`, `cell 3`."""
    code: bool


def chunks(path: str, text: str) -> Iterator[Chunk]:
    """The pieces of a file, by the ending of its name; none where that is another or the file cannot be understood."""
    kinds = {".py": of_python, ".md": of_markdown, ".ipynb": of_notebook}
    kind = kinds.get(PurePath(path).suffix)
    for chunk in kind(text) if kind else ():
        if chunk.text.strip():
            yield chunk


def of_python(text: str) -> Iterator[Chunk]:
    """Each function and class at the top, a class that is too long by its methods, and what stands between."""
    tree = parsed(text)
    if tree is None:
        return
    lines = text.splitlines()
    loose: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _loose(lines, loose)
            loose = []
            yield from _defined(lines, statement)
        else:
            loose.append(statement)
    yield from _loose(lines, loose)


def of_markdown(text: str) -> Iterator[Chunk]:
    """Each section under its heading; a `#` in a fenced block is none."""
    title, began, section, fenced = "", 1, list[str](), False
    for number, line in enumerate(text.splitlines(), start=1):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            yield Chunk(title, _cut(section), f"line {began}", code=False)
            title, began, section = heading[1], number, []
        else:
            section.append(line)
    yield Chunk(title, _cut(section), f"line {began}", code=False)


def of_notebook(text: str) -> Iterator[Chunk]:
    """The code cells, without their outputs, each titled by the heading above it. Cells of explorations are left out,
    and so is a trace of one."""
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
        elif kind == "code" and not _OURS.match(source):
            yield Chunk(title, _cut(source.splitlines()), f"cell {number}", code=parsed(source) is not None)


def _defined(lines: Sequence[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Chunk]:
    text = _lines(lines, node, node)
    if isinstance(node, ast.ClassDef) and len(text) > LONGEST:
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
        for method in methods:
            told = f"class {node.name}:\n{_lines(lines, method, method)}"
            yield Chunk(
                f"{node.name}.{method.name}", told[:LONGEST], f"line {method.lineno}", code=len(told) <= LONGEST
            )
    else:
        yield Chunk(node.name, text[:LONGEST], f"line {node.lineno}", code=len(text) <= LONGEST)


def _loose(lines: Sequence[str], statements: Sequence[ast.stmt]) -> Iterator[Chunk]:
    if statements and not all(isinstance(one, ast.Import | ast.ImportFrom) for one in statements):
        text = _lines(lines, statements[0], statements[-1])
        yield Chunk("", text[:LONGEST], f"line {statements[0].lineno}", code=len(text) <= LONGEST)


def _lines(lines: Sequence[str], first: ast.stmt, last: ast.stmt) -> str:
    decorators = getattr(first, "decorator_list", [])
    began = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[began - 1 : last.end_lineno])


def _cut(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")[:LONGEST]
