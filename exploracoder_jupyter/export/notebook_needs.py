"""What a program takes from the notebook it was made in: variables it does not make, files it does not write."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from pathlib import Path, PurePosixPath

from exploracoder_jupyter.pipeline.exploring.dependency_slice import GIVEN, lacking, names_in

_FILE = re.compile(r"[\w .()+@~/\\-]{1,200}\.\w{1,12}")


def variables(code: str, uses: Container[str]) -> list[str]:
    """The names that the code reads and binds nowhere, and those of `uses` that it reads before it binds them."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(_tree(code))):
        return sorted(name for name in lacking(code) or () if name in uses)  # the rest may have come with the star
    names = names_in(code)
    before = {name for name in lacking(code) or () if name in uses}
    return sorted((names.read - names.bound - GIVEN) | before)


def files(code: str, folder: Path, written: Container[str]) -> list[str]:
    """Relative paths in the code's texts that name a file in the folder; without those that the code itself wrote."""
    found = dict.fromkeys(
        text for text in _texts(code) if _FILE.fullmatch(text) and not PurePosixPath(text).is_absolute()
    )
    return [text for text in found if text not in written and (folder / text).is_file()]


def at_home(code: str) -> list[str]:
    """Paths of a home folder in the code's texts, as a trace has them; none where the code knows what `~` means."""
    found = dict.fromkeys(text for text in _texts(code) if re.match(r"~[/\\]\w", text))
    return [] if "expanduser" in code else [" ".join(text.split())[:200] for text in found]


def _texts(code: str) -> Iterator[str]:
    for node in ast.walk(_tree(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _tree(code: str) -> ast.Module:
    """The code's tree; an empty one where it cannot be parsed."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
