"""Records the states of files and folders on which an answer depends, to check later whether it is still valid.

Used both by the program that answers and by the process that stores the answer. So a state only consists of what both
see alike, however the files are mounted.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator

TREE = os.sep + "**"
"""Suffix of a path that stands for all code below a folder, but not for other content of the folder."""

_CODE = (".py", ".pyi", ".so", ".pyd")
_IMPORTABLE = (".py", ".so", ".pyd", ".dist-info", ".egg-info", ".egg-link", ".egg", ".pth", ".zip")
"""Suffixes of names that determine what can be imported; packages have none."""
_STARTUP_FILES = (".pth", ".egg-link", "sitecustomize.py", "usercustomize.py")


def fingerprint(path: str) -> str:
    """Return a text that changes with the path; empty if nothing is there.

    For a file it is time and size; for a folder the names in it that determine what can be imported; for a path with
    `TREE` the times and sizes of all code below.
    """
    try:
        if path.endswith(TREE):
            files = [os.path.join(folder, name) for folder, _, names in os.walk(path[: -len(TREE)]) for name in names]
            return _digest(
                f"{os.path.relpath(file, path)} {_file_state(file)}" for file in files if file.endswith(_CODE)
            )
        return _digest(_relevant_names(path)) if os.path.isdir(path) else _file_state(path)
    except OSError:
        return ""


def fingerprints(paths: Iterable[str]) -> dict[str, str]:
    """Return the state of each path."""
    return {path: fingerprint(path) for path in paths}


def import_environment() -> list[str]:
    """Return what determines the modules and distributions this interpreter finds: itself and its search path."""
    archive = next((entry for entry in sys.path if __file__.startswith(entry + os.sep) and os.path.isfile(entry)), None)
    search_path = [os.path.abspath(entry) for entry in sys.path if entry != archive]
    return [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *dict.fromkeys(search_path)]


def _file_state(path: str) -> str:
    status = os.stat(path)
    return f"{status.st_mtime_ns} {status.st_size}"


def _relevant_names(folder: str) -> Iterator[str]:
    for name in os.listdir(folder):
        if name.endswith(_STARTUP_FILES) or name.startswith("__editable__"):
            yield f"{name} {_file_state(os.path.join(folder, name))}"
        elif name.endswith(_IMPORTABLE) or (name.isidentifier() and name != "__pycache__"):
            yield name


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
