"""Reads the files below a folder within limits, and splits them into chunks."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import time
import warnings
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from pathspec import GitIgnoreSpec

from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.secrets.secret_names import is_credential_stem

# Splits files into chunks that can be searched and shown: functions and classes, sections, code cells.

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


# Reads the Python, Markdown and notebook files below a folder, within limits.
#
# Links are not followed, so nothing outside the folder is ever read, and only regular files are read. Hidden names,
# environments, paths in `.gitignore`, exploration traces, and files whose names suggest credentials are left out.

KINDS = frozenset({".py", ".md", ".ipynb"})
_EXCLUDED_NAMES = frozenset({"explorations", "site-packages", "node_modules", "build", "dist"})
_ENVIRONMENT_MARKERS = frozenset({"pyvenv.cfg", "conda-meta"})
_Ignored = tuple[str, GitIgnoreSpec]
"""A folder with a trailing `/`, empty for the searched one, and the rules of its `.gitignore`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum amount that is read."""

    files: int = 400
    folders: int = 400
    entries: int = 20_000
    file_bytes: int = 400_000
    notebook_bytes: int = 8_000_000
    """Size of one notebook: most of it is outputs, which are not used."""
    bytes: int = 32_000_000
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read."""

    path: str
    """Relative to the folder."""
    text: str


@dataclass(slots=True)
class _Usage:
    limits: Limits
    files: int = 0
    entries: int = 0
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def is_exhausted(self) -> bool:
        most = self.limits
        is_late = time.monotonic() - self.began > most.seconds
        return self.files >= most.files or self.bytes >= most.bytes or is_late


def iter_files(folder: Path, limits: Limits) -> Iterator[TextFile]:
    """Yield the files of the folder, then those of its subfolders, by name, until a limit is reached."""
    usage = _Usage(limits)
    for path in _paths(folder, usage):
        text = read_file(folder / path, limits)
        if text is not None:
            usage.files += 1
            usage.bytes += len(text)
            yield TextFile(path, text)
        if usage.is_exhausted:
            return


def iter_paths(folder: Path, limits: Limits, kinds: Collection[str]) -> Iterator[str]:
    """Yield the paths of the files with these suffixes, relative to the folder, without opening them."""
    usage = _Usage(limits)
    for path in _paths(folder, usage, kinds):
        usage.files += 1
        yield path


def read_file(path: Path, limits: Limits) -> str | None:
    """Return the text of a file; None unless it is a regular file, not a link, and not too large."""
    most = limits.notebook_bytes if path.suffix == ".ipynb" else limits.file_bytes
    try:
        # Non-blocking: opening a named pipe would otherwise wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        try:
            return file.read(most).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None


def _paths(folder: Path, usage: _Usage, kinds: Collection[str] = KINDS) -> Iterator[str]:
    queue: deque[tuple[str, tuple[_Ignored, ...]]] = deque([("", ())])
    for _ in range(usage.limits.folders):
        if not queue or usage.is_exhausted or usage.entries >= usage.limits.entries:
            return
        folder_path, known = queue.popleft()
        entries = _entries(folder / folder_path, usage)
        names = {entry.name for entry in entries}
        if folder_path and names & _ENVIRONMENT_MARKERS:
            continue
        if ".gitignore" in names:
            text = read_file(folder / folder_path / ".gitignore", usage.limits) or ""
            known = (*known, (folder_path, parse_gitignore(text)))
        for entry in entries:
            path, is_folder = folder_path + entry.name, entry.is_dir(follow_symlinks=False)
            if _is_excluded(entry, path, is_folder, known):
                continue
            if is_folder:
                queue.append((f"{path}/", known))
            elif Path(entry.name).suffix in kinds:
                yield path


def _entries(folder: Path, usage: _Usage) -> list[os.DirEntry[str]]:
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry)
                usage.entries += 1
                if usage.entries >= usage.limits.entries:
                    break
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def _is_excluded(entry: os.DirEntry[str], path: str, is_folder: bool, known: Sequence[_Ignored]) -> bool:
    name = entry.name
    if name.startswith((".", "__")) or name in _EXCLUDED_NAMES or entry.is_symlink():
        return True
    if is_credential_stem(Path(name).stem):
        return True
    checked = (spec.check_file(f"{path}/"[len(folder) : None if is_folder else -1]) for folder, spec in reversed(known))
    return next((result.include for result in checked if result.include is not None), False)


def parse_gitignore(text: str) -> GitIgnoreSpec:
    """Parse a `.gitignore`; invalid lines are skipped."""
    patterns = [*GitIgnoreSpec.from_lines(()).patterns]
    with warnings.catch_warnings(action="ignore"):  # `re` warns of some that it compiles
        for line in text.splitlines():
            with suppress(ValueError, re.error):
                patterns += GitIgnoreSpec.from_lines([line]).patterns  # the class of a pattern differs by version
    return GitIgnoreSpec(patterns)
