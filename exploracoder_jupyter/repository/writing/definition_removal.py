"""Removes a definition from a repository, as a problem for an evaluation (RRR, appendix E.2).

The definition goes with the imports that only it uses, so that they do not show what it is made of.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.repository.reading.python_syntax import import_extra
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.writing.target import Target, find_target

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
