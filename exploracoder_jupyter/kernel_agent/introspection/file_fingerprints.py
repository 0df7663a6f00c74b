"""Files and folders on which an answer rests, each with its state, by which one can see later whether it still holds.

Used on both sides: by the program that answers, and by the process that keeps the answer. So a state is made of what
both see alike, however the files are mounted.
"""

from __future__ import annotations

import hashlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TREE = os.sep + "**"
"""Ends a path that stands for all code below a folder, and not for what lies in the folder itself."""

_CODE = (".py", ".pyi", ".so", ".pyd")
_FOUND_BY = (".py", ".so", ".pyd", ".dist-info", ".egg-info", ".egg-link", ".egg", ".pth", ".zip")
"""Ends of names that decide what can be imported; packages have none."""
_READ_AT_START = (".pth", ".egg-link", "sitecustomize.py", "usercustomize.py")


def state(path: str) -> str:
    """What changes when the path does; empty where there is nothing.

    Of a file its time and size; of a folder the names in it that decide what can be imported; of a path with `TREE` the
    times and sizes of all code below.
    """
    try:
        if path.endswith(TREE):
            return _digest(f"{os.path.relpath(one, path)} {_stat(one)}" for one in _code(path[: -len(TREE)]))
        return _digest(_names(path)) if os.path.isdir(path) else _stat(path)
    except OSError:
        return ""


def states(paths: Iterable[str]) -> dict[str, str]:
    """The state of each path."""
    return {path: state(path) for path in paths}


def surroundings() -> list[str]:
    """What decides which modules and distributions this interpreter finds: itself, and where it looks for them."""
    archive = next((entry for entry in sys.path if __file__.startswith(entry + os.sep) and os.path.isfile(entry)), None)
    looked = [os.path.abspath(entry) for entry in sys.path if entry != archive]
    return [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *dict.fromkeys(looked)]


def _stat(path: str) -> str:
    found = os.stat(path)
    return f"{found.st_mtime_ns} {found.st_size}"


def _names(folder: str) -> Iterator[str]:
    for name in os.listdir(folder):
        if name.endswith(_READ_AT_START) or name.startswith("__editable__"):
            yield f"{name} {_stat(os.path.join(folder, name))}"
        elif name.endswith(_FOUND_BY) or (name.isidentifier() and name != "__pycache__"):
            yield name


def _code(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names if name.endswith(_CODE))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
