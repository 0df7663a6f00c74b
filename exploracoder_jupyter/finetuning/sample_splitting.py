"""Divides Python files and notebooks into samples: complete code with a description of what it does.

A sample is a function with a docstring, the examples of a docstring, or code with a comment. Its code begins with the
imports that it uses, so that it can be read alone. The docstring of a function becomes the description.
"""

from __future__ import annotations

import ast
import copy
import doctest
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import PurePath
from typing import Final

from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.text.file_chunks import split_notebook

_LONGEST_TASK: Final = 600
_COMMENT = re.compile(r"^[ \t]*#+[ \t]*(?P<text>.*\S)", re.MULTILINE)
_HEADING = re.compile(r"^[=\-~^\"]{3,}$|^\.\. ", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{2,}")
_LEAST_WORDS: Final = 3
_IMPORT_AS = re.compile(r"^\s*(?:>>> )?import ([\w.]+) as (\w+)\s*$", re.MULTILINE)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Sample:
    """Code with a description, before it is annotated."""

    task: str
    """What the code does, in words; empty if nothing says so."""
    code: str
    place: str
    """Position in its file."""
    name: str | None = None
    """The function that it defines, if that is all it does."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file, or other text, of a corpus."""

    path: str
    text: str
    licence: str
    module: str = ""
    """Import path, for files of an installed package: relative imports are resolved with it."""


def find_aliases(texts: Iterable[str]) -> dict[str, str]:
    """Return the module that each alias most often stands for in these texts, as `np` for `numpy`."""
    counts = Counter[tuple[str, str]](pair for text in texts for pair in _IMPORT_AS.findall(text))
    return {alias: module for (module, alias), _ in reversed(counts.most_common())}


def split_samples(source: SourceText, aliases: Mapping[str, str]) -> list[Sample] | None:
    """Return the samples of a file; None if it is not Python.

    `aliases` has modules by the alias under which examples in docstrings use them without an import.
    """
    if PurePath(source.path).suffix == ".ipynb":
        return list(_notebook_samples(source.text))
    tree = parse_valid_python(source.text)
    return None if tree is None else list(_module_samples(tree, source, aliases))


def _describe(text: str) -> str:
    """Return the first paragraph of a docstring; empty if it has too few words."""
    paragraph = " ".join(textwrap.dedent(text).strip().split("\n\n", 1)[0].split())[:_LONGEST_TASK]
    return paragraph if len(_WORD.findall(paragraph)) >= _LEAST_WORDS else ""


def _first_comment(code: str) -> str:
    """Return the first comment of the code that is a description."""
    return next(filter(None, (_describe(found["text"]) for found in _COMMENT.finditer(code))), "")


def _notebook_samples(text: str) -> Iterator[Sample]:
    imports: dict[str, str] = {}
    for chunk in split_notebook(text):
        tree = parse_valid_python(chunk.text)
        if tree is None:
            yield Sample("", chunk.text, chunk.place)
            continue
        code = "\n".join([*_used_imports(tree, imports), chunk.text])
        imports |= _imports(tree.body, "", False)
        yield Sample(_first_comment(chunk.text) or _describe(chunk.title), code, chunk.place)


def _module_samples(tree: ast.Module, source: SourceText, aliases: Mapping[str, str]) -> Iterator[Sample]:
    is_package = PurePath(source.path).name == "__init__.py"
    imports = _imports(tree.body, source.module, is_package)
    lines = source.text.splitlines()
    documented = [tree, *(node for node in ast.walk(tree) if isinstance(node, _Function | ast.ClassDef))]
    for node in documented:
        if isinstance(node, _Function):
            yield _function_sample(node, lines, imports)
        if docstring := ast.get_docstring(node):
            yield from _example_samples(docstring, f"line {getattr(node, 'lineno', 1)}", aliases)
    yield from _loose_samples(tree, lines, imports)


def _function_sample(node: _Function, lines: Sequence[str], imports: Mapping[str, str]) -> Sample:
    docstring = ast.get_docstring(node) or ""
    body = node.body[1:] if docstring else node.body
    head = f"{'async ' * isinstance(node, ast.AsyncFunctionDef)}def {node.name}({ast.unparse(node.args)}):"
    text = "    pass"
    if body:
        after, first = (
            node.body[0].end_lineno or 0,
            min([body[0].lineno, *(one.lineno for one in getattr(body[0], "decorator_list", []))]),
        )
        start = min(after, first - 1) if after < first else first - 1  # with comments behind the docstring
        text = "\n".join(lines[start : body[-1].end_lineno])
    bare = copy.copy(node)
    bare.decorator_list, bare.returns = [], None
    code = "\n".join([*_used_imports(bare, imports), head, textwrap.indent(textwrap.dedent(text), "    ")])
    return Sample(_describe(docstring), code, f"line {node.lineno}", node.name)


def _example_samples(docstring: str, place: str, aliases: Mapping[str, str]) -> Iterator[Sample]:
    """Yield the examples of a docstring that run as one sample; sentences between them become comments."""
    try:
        parts = doctest.DocTestParser().parse(docstring)
    except ValueError:
        return
    code: list[str] = []
    for before, part in zip(["", *parts], parts, strict=False):
        if isinstance(part, doctest.Example) and not part.exc_msg and not part.options.get(doctest.SKIP):
            if code and isinstance(before, str) and not _HEADING.search(before):
                sentence = re.split(r"(?<=[.!?:])\s", _describe(before), maxsplit=1)[0].rstrip(":")
                code += [f"# {sentence}"] if sentence else []
            code.append(part.source.rstrip("\n"))
    text = "\n".join(code)
    tree = parse_valid_python(text) if code else None
    if tree is not None:
        known = {alias: f"import {module} as {alias}" for alias, module in aliases.items()}
        whole = "\n".join([*_used_imports(tree, known), text])
        yield Sample(_describe(docstring), whole, f"{place}, examples")


def _loose_samples(tree: ast.Module, lines: Sequence[str], imports: Mapping[str, str]) -> Iterator[Sample]:
    """Yield the statements between definitions, with the imports of the file."""
    group: list[ast.stmt] = []
    for statement in [*tree.body, None]:
        if statement and not isinstance(statement, _Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                group.append(statement)
        elif group:
            above = group[0].lineno - 1
            while above and lines[above - 1].lstrip().startswith("#"):
                above -= 1
            text = "\n".join(lines[above : group[-1].end_lineno])
            used = _used_imports(ast.Module([*group], []), imports)
            yield Sample(_first_comment(text), "\n".join([*used, text]), f"line {group[0].lineno}")
            group = []


def _imports(body: Sequence[ast.stmt], module: str, is_package: bool) -> dict[str, str]:
    """Return the import statement, alone and absolute, of each name that the statements import."""
    found: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = ast.unparse(ast.Import([one]))
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, module, is_package)
            for one in node.names if origin else ():
                found[one.asname or one.name] = ast.unparse(ast.ImportFrom(origin, [one], 0))
    return found


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the module that is imported from; empty if it is relative to an unknown one."""
    package = module if is_package else module.rpartition(".")[0]
    try:
        return resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return ""


def _used_imports(node: ast.AST, imports: Mapping[str, str]) -> list[str]:
    """Return the imports of the names that the code uses and does not bind itself."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    bound = {part.id for part in names if not isinstance(part.ctx, ast.Load)}
    bound |= {
        alias.asname or alias.name.partition(".")[0]
        for part in ast.walk(node)
        if isinstance(part, ast.Import | ast.ImportFrom)
        for alias in part.names
    }
    used = dict.fromkeys(part.id for part in names if part.id in imports and part.id not in bound)
    return list(dict.fromkeys(imports[name] for name in used))
