"""The samples of a corpus: files, installed packages and traces, divided into complete code, without texts of a
benchmark.
"""

from __future__ import annotations

import ast
import copy
import doctest
import importlib.util
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.kernel_agent.introspection import installed_libraries
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.text.files import Limits, iter_files, read_file, split_notebook

# Recognizes samples that share text with the problems of a benchmark, so that no model is trained on its tests.

_TOKEN = re.compile(r"\w+|[^\w\s]")
_RUN: Final = 13
"""Tokens in a row that a sample and a problem must share, as is usual for this check."""


class BenchmarkOverlap:
    """The token sequences of the problems."""

    def __init__(self, texts: Iterable[str]) -> None:
        """`texts` are prompts, tasks, reference solutions and tests."""
        self._known = frozenset(run for text in texts for run in _runs(text))

    def __contains__(self, text: str) -> bool:
        return bool(self._known) and not self._known.isdisjoint(_runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    found = _TOKEN.findall(text.lower())
    return zip(*(found[start:] for start in range(_RUN)), strict=False)


def read_json_texts(path: Path) -> Iterator[str]:
    """Yield all texts in the lines of a JSON lines file, such as the problems of an evaluation."""
    try:
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            if line.strip():
                yield from _texts(json.loads(line))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON lines: {error}.", remedy="Name a problem file.") from None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


# Divides Python files and notebooks into samples: complete code with a description of what it does.
#
# A sample is a function with a docstring, the examples of a docstring, or code with a comment. Its code begins with
# the imports that it uses, so that it can be read alone. The docstring of a function becomes the description.

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


# Reads the texts of a corpus: folders, files, installed packages, traces of explorations and stored snippets.

_LIMITS: Final = Limits(
    files=100_000,
    folders=100_000,
    entries=10_000_000,
    file_bytes=4_000_000,
    notebook_bytes=64_000_000,
    bytes=4_000_000_000,
    seconds=3600.0,
)
_KINDS: Final = (".py", ".ipynb")
_UNKNOWN: Final = "unknown"
_OWN: Final = "own work"
_LONGEST_LICENCE: Final = 60
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+(?:\s+(?:OR|AND|WITH)\s+[\w.+-]+)*)")
_LICENCE_FILE = re.compile(r"(?i)^(?:licen[cs]e|copying)(?:\.\w+)?$")


def read_corpus(names: Sequence[str]) -> list[SourceText]:
    """Read all texts of these folders, files and installed packages, in a fixed order; UsageError if there is none."""
    found = [source for name in names for source in _read_place(name)]
    if not found and names:
        raise UsageError(
            f"There is no Python file and no notebook in {', '.join(names)}.",
            remedy="Name a folder with .py or .ipynb files, or an installed package.",
        )
    return found


def stored_snippets(libraries: Sequence[str]) -> list[tuple[Sample, str, str]]:
    """Return the stored snippets of these libraries, by import name, each with its path and licence."""
    store = SnippetStore(snippets_path())
    return [
        (Sample(one.snippet.title, one.snippet.code, one.id), "stored snippets", _OWN)
        for one in sorted(store.all(), key=lambda stored: stored.id)
        if one.snippet.library in libraries
    ]


def trace_sample(source: SourceText) -> Sample | None:
    """Return task and solution of a solved exploration, if the file is its trace."""
    if not source.path.endswith(".ipynb") or '"exploracoder_jupyter"' not in source.text:
        return None
    from exploracoder_jupyter.runs.order import load_records

    try:
        run = fold_all(load_records(Path(source.path)))
    except ExploraError:
        return None
    solution = run.finished.solution if run.finished and run.finished.verdict.outcome == "solved" else None
    if run.started is None or solution is None or solution.patch:
        return None
    return Sample(run.started.task.text, solution.code, "solution", run.started.task.solution_name)


def _read_place(name: str) -> Iterator[SourceText]:
    path = Path(name)
    if path.is_dir():
        yield from _read_folder(path, str(path), _folder_licence(path))
    elif path.is_file():
        text = read_file(path, _LIMITS)
        if path.suffix not in _KINDS or text is None:
            raise UsageError(f"{name} is not a Python file or notebook.", remedy="Name a .py or .ipynb file.")
        yield _source(str(path), text, _folder_licence(path.parent))
    else:
        yield from _read_package(name)


def _read_folder(folder: Path, shown: str, licence: str, module: str = "") -> Iterator[SourceText]:
    for file in iter_files(folder, _LIMITS):
        if file.path.endswith(_KINDS):
            parts = PurePosixPath(file.path).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            yield _source(f"{shown}/{file.path}", file.text, licence, ".".join([module, *inner]) if module else "")


def _read_package(name: str) -> Iterator[SourceText]:
    """Read an installed package, or a part of it by its dotted name; imports nothing."""
    module = installed_libraries.resolve_import_name(name)
    top, *inner = (module or "").split(".")
    spec = importlib.util.find_spec(top) if top else None  # of a dotted name, this would import the package
    places: list[Path] = []
    if spec and spec.submodule_search_locations is not None:
        found = [Path(location, *inner) for location in spec.submodule_search_locations]
        places = [place for path in found for place in (path, path.with_suffix(".py")) if place.exists()]
    elif spec and spec.origin and not inner:
        places = [Path(spec.origin)]
    if module is None or not places:
        near = installed_libraries.similar_names(name)
        raise UsageError(
            f"There is no folder, file or installed package {name!r}.",
            remedy=f"Did you mean {near[0]!r}?" if near else "Check the name.",
        )
    licence, shown = _package_licence(top), module.replace(".", "/")
    for place in places:
        if place.is_dir():
            yield from _read_folder(place, shown, licence, module)
        elif text := read_file(place, _LIMITS):
            yield _source(f"{shown}.py", text, licence, module)


def _source(path: str, text: str, licence: str, module: str = "") -> SourceText:
    spdx = _SPDX.search(text)
    return SourceText(path, text, spdx[1] if spdx else licence, module)


def _folder_licence(folder: Path) -> str:
    """Return the first line of the folder's licence file."""
    files = sorted(path for path in folder.iterdir() if _LICENCE_FILE.match(path.name)) if folder.is_dir() else []
    text = read_file(files[0], _LIMITS) if files else None
    return next((line.strip()[:_LONGEST_LICENCE] for line in (text or "").splitlines() if line.strip()), _UNKNOWN)


def _package_licence(module: str) -> str:
    distribution = installed_libraries.distribution(module)
    if distribution is None:
        return _UNKNOWN
    fields = [installed_libraries.metadata_field(distribution, name) for name in ("License-Expression", "License")]
    classifiers = distribution.metadata.get_all("Classifier") or []
    fields += [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License :: ")]
    return next((text.splitlines()[0][:_LONGEST_LICENCE] for text in fields if text.strip()), _UNKNOWN)
