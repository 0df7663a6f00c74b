"""The target, a class, function or method named as `FILE::NAME`, and its removal for an evaluation."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import did_you_mean
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.source_files import LANGUAGES, Definition, Language, import_extra

# The target: the class, function or method that is written, as `FILE::NAME`; it may exist already or not.

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_BOM = "\ufeff"
_EXAMPLE = "For example: --target src/shop/cart.py::Cart"


@dataclass(frozen=True, slots=True)
class Target:
    """What is written, and where."""

    path: str
    """Path of the file relative to the repository, with `/`."""
    name: str
    """`Cart`, or `Cart.total` for a method."""
    text: str
    """The present text of the file, without its byte order mark; empty for a new file."""
    is_new_file: bool
    present: tuple[Definition, ...]
    """The definitions that are replaced: none if the target is new, several for a property with its setter."""
    owner: Definition | None
    """The class of a method."""
    bom: str = ""
    """The byte order mark with which the file begins; empty if there is none."""

    @property
    def language(self) -> Language:
        """The language of the file."""
        return LANGUAGES[PurePosixPath(self.path).suffix]

    @property
    def last_name(self) -> str:
        """The name without that of its class."""
        return self.name.rpartition(".")[2]

    @property
    def lines(self) -> tuple[str, int, int] | None:
        """Path, first and last line of what is replaced; `None` if the target is new."""
        return (self.path, self.present[0].line, self.present[-1].end) if self.present else None

    @property
    def titled(self) -> str:
        """`FILE::NAME`."""
        return f"{self.path}::{self.name}"


def find_target(index: RepositoryIndex, given: str) -> Target:
    """Find the target in a repository.

    UsageError if the target is malformed, its file lies outside of the repository, is not a source file or cannot be
    read, the class of a method does not exist, or the file has alternative definitions of it.
    """
    file, _, name = given.strip().rpartition("::")
    if not file or not _NAME.fullmatch(name) or "\n" in file:
        raise UsageError(f"--target takes FILE::NAME, not {given!r}.", remedy=_EXAMPLE)
    root, given_path = index.root.resolve(), Path(file)
    if given_path.is_absolute():
        given_path = given_path.parent.resolve() / given_path.name
    path = Path(os.path.relpath(root / given_path, root)).as_posix()  # tests run in a copy
    place = resolve_inside(index.root, path)
    if place.suffix not in LANGUAGES:
        raise UsageError(f"{path} is not a Python or Java file.", remedy=_EXAMPLE)
    if not place.parent.is_dir():
        raise UsageError(f"The repository has no folder {PurePosixPath(path).parent}.", remedy="Check the target.")
    text = index.overlay[path] if path in index.overlay else read_text(place, path)
    content = (text or "").removeprefix(_BOM)
    bom = _BOM if text and text.startswith(_BOM) else ""
    definitions = index.replaced(path, content).by_path[path].definitions
    owner_name = name.rpartition(".")[0]
    owner = next((item for item in definitions if item.kind == "class" and item.qualified == owner_name), None)
    if owner_name and owner is None:
        meant = did_you_mean(owner_name, [item.qualified for item in definitions if item.kind == "class"])
        raise UsageError(f"{path} has no class {owner_name}.", remedy=f"{meant}Check the target {given!r}.")
    present = tuple(item for item in definitions if item.qualified == name and item.kind != "attribute")
    if len(present) > 1 and place.suffix == ".py" and not _in_one_block(content, present):
        raise UsageError(
            f"{path} defines {name} in several branches, in lines {', '.join(str(item.line) for item in present)}.",
            remedy="Leave one of them, or name a method.",
        )
    return Target(path, name, content, text is None, present, owner, bom)


def _in_one_block(text: str, present: Sequence[Definition]) -> bool:
    """Whether the definitions stand in one block, where the last counts; also true if the file is not valid."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    blocks = (getattr(node, name, None) for node in nodes for name in ("body", "orelse", "finalbody"))
    lines = ([item.lineno for item in block] for block in blocks if isinstance(block, list))
    return any(all(any(one.line <= line <= one.end for line in block) for one in present) for block in lines)


def similar_target(index: RepositoryIndex, target: Target) -> str:
    """Return a sentence if a new target is spelled like something that its file has; else an empty string."""
    if target.present or target.path not in index.by_path:
        return ""
    names = [item.qualified for item in index.by_path[target.path].definitions if item.kind != "attribute"]
    meant = did_you_mean(target.name, names).strip()
    return f"{target.path} has no {target.name}, so it is added. {meant}" if meant else ""


def resolve_inside(root: Path, path: str) -> Path:
    """Return the file that a path relative to the repository names; UsageError if it lies outside, also by a link."""
    place = (root / path).resolve()
    if place == root.resolve() or not place.is_relative_to(root.resolve()):
        is_link = not Path(path).is_absolute() and ".." not in Path(path).parts
        why = "is a link that leads out" if is_link else "lies outside"
        raise UsageError(f"{path} {why} of the repository {root}.", remedy="Name a file in the repository.")
    return place


def read_text(place: Path, path: str) -> str | None:
    """Return the text of a file as it is, line ends included; `None` if there is no such file."""
    if not place.exists():
        return None
    try:
        return place.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as UTF-8 text: {error}.", remedy="Check the file.") from None


# Removes a definition from a repository, as a problem for an evaluation (RRR, appendix E.2).
#
# The definition goes with the imports that only it uses, so that they do not show what it is made of.

_NOT_COPIED: Final = (".git", "__pycache__", ".pytest_cache", ".venv", "node_modules", ".tox", ".mypy_cache")


def removable_target(root: Path, given: str) -> Target:
    """Return the target; UsageError if it does not exist."""
    target = find_target(RepositoryIndex(root, (), ""), given)
    if not target.present:
        raise UsageError(f"{target.path} has no {target.name}.", remedy="Check the target.")
    return target


def removed_text(target: Target) -> str:
    """Return the text of the target's file without the target, and without imports that nothing else uses."""
    lines = target.text.split("\n")
    for item in reversed(target.present):
        del lines[item.line - 1 : item.end]
    text = "\n".join(lines).rstrip() + "\n"
    if target.language == "java":
        return text
    unused, lines = _unused_imports(text) - _unused_imports(target.text), text.split("\n")
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if names <= unused:
                del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def copy_without_target(root: Path, given: str, folder: Path) -> None:
    """Copy a repository into a new folder, without the target."""
    target = removable_target(root, given)
    shutil.copytree(root, folder, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    (folder / target.path).write_bytes(f"{target.bom}{removed_text(target)}".encode())


def _unused_imports(text: str) -> set[str]:
    """Return the names that code imports and does not use; none if it cannot be parsed."""
    pyflakes = import_extra("pyflakes.checker", "python")
    messages = pyflakes.Checker(parse_python(text)).messages
    unused = pyflakes.messages.UnusedImport
    found = (str(message.message_args[0]) for message in messages if isinstance(message, unused))
    return {name.rpartition(" as ")[2].rpartition(".")[2] for name in found}
