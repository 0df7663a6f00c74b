"""Finds what a program needs from its original notebook: variables it does not define, files it does not write."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from pathlib import Path, PurePosixPath

from exploracoder_jupyter.pipeline.exploring.dependency_slice import ALWAYS_DEFINED, names_in, unbound_names
from exploracoder_jupyter.text.python_code import parse_python

_FILE = re.compile(r"[\w .()+@~/\\-]{1,200}\.\w{1,12}")


def needed_variables(code: str, uses: Container[str]) -> list[str]:
    """Return the names that the code reads but never binds, and those of `uses` that it reads before binding them."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(parse_python(code))):
        return sorted(
            name for name in unbound_names(code) or () if name in uses
        )  # the rest may come from the star import
    names = names_in(code)
    before = {name for name in unbound_names(code) or () if name in uses}
    return sorted((names.read - names.bound - ALWAYS_DEFINED) | before)


def needed_files(code: str, folder: Path, written: Container[str]) -> list[str]:
    """Return relative paths in the code's strings that are files in the folder and were not written by the code."""
    found = dict.fromkeys(
        text for text in _string_constants(code) if _FILE.fullmatch(text) and not PurePosixPath(text).is_absolute()
    )
    return [text for text in found if text not in written and (folder / text).is_file()]


def home_paths(code: str) -> list[str]:
    """Return paths in the code's strings that start with `~`, by which traces replace home folders.

    Empty if the code calls `expanduser`, because it then handles `~` itself.
    """
    found = dict.fromkeys(text for text in _string_constants(code) if re.match(r"~[/\\]\w", text))
    return [] if "expanduser" in code else [" ".join(text.split())[:200] for text in found]


def _string_constants(code: str) -> Iterator[str]:
    for node in ast.walk(parse_python(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
