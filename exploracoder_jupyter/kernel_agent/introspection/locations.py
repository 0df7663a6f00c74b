"""Where the modules and documents of a distribution lie, and the states of the files on which an answer depends."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from itertools import islice
from typing import Any

# Locates modules without importing their packages, including namespace packages.

CODE = (".py", ".so", ".pyd")
STUBS = "-stubs"
"""Suffix of a folder of type stubs that is installed beside, or in place of, a package (PEP 561)."""
MAX_FOLDERS = 1_000


def find_spec(name: str, package_folders: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of a module; `package_folders` lists the folders of its package, None for a top-level module.

    Specs of nested namespace packages are created here: the standard finder would look up the folders of their parents,
    which are not imported.
    """
    for finder in sys.meta_path:
        with suppress(ImportError, ValueError, AttributeError, KeyError):
            spec = finder.find_spec(name, package_folders)
            if spec is not None and not (package_folders is not None and is_namespace(spec)):
                return spec
    parents = [os.path.join(folder, name.rpartition(".")[2]) for folder in package_folders or ()]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [parent for parent in parents if os.path.isdir(parent)]
    return spec if spec.submodule_search_locations else None


def is_namespace(spec: ModuleSpec) -> bool:
    """Return whether a spec belongs to a package without its own file."""
    return spec.submodule_search_locations is not None and not spec.has_location


def library_root(module: Any, name: str) -> str:
    """Return the prefix of all paths of the library with this name: its outermost package that has a file.

    Other parts of the same namespace may belong to other libraries.
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        loaded = sys.modules.get(".".join(parts[:length]))
        if loaded is not None and hasattr(loaded, "__path__") and getattr(loaded, "__file__", None):
            return ".".join(parts[:length])
    return name if hasattr(module, "__path__") or len(parts) == 1 else ".".join(parts[:-1])


def packages_without_init(parents: Sequence[str]) -> Iterator[str]:
    """Yield names of packages without `__init__.py` in these folders: folders that contain modules at any depth."""
    for parent in filter(os.path.isdir, parents):
        for name in sorted(os.listdir(parent)):
            folder = os.path.join(parent, name)
            if name.isidentifier() and not os.path.exists(os.path.join(folder, "__init__.py")) and has_code(folder):
                yield name


def has_code(folder: str) -> bool:
    """Return whether there are modules in a folder, at any depth."""
    for _, subfolders, names in islice(os.walk(folder), MAX_FOLDERS):
        subfolders[:] = [name for name in subfolders if name.isidentifier() and name != "__pycache__"]
        if any(name.endswith(CODE) for name in names):
            return True
    return False


def module_origin(name: str) -> str:
    """Return the file, or the folder without one, from which a top-level module is imported or was; empty if unknown.

    Relative to the working directory if it is below that, which has another path in some siblings. Siblings run the
    source of this function, where this package is not: it has to import what it needs.
    """
    import importlib.util
    import os

    try:
        spec = importlib.util.find_spec(name)
        path = (spec.origin or next(iter(spec.submodule_search_locations or ()), "")) if spec else ""
        inside = os.path.relpath(path, os.getcwd()) if os.path.isabs(path) else path
    except (ImportError, ValueError, AttributeError, OSError):
        return ""
    return path if inside.startswith(os.pardir) else inside


# Records the states of files and folders on which an answer depends, to check later whether it is still valid.
#
# Used both by the program that answers and by the process that stores the answer. So a state only consists of what
# both see alike, however the files are mounted.

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


# Finds the documentation that a distribution contains: README, example programs and guides.

MAX_PROGRAMS = 40
MAX_PROGRAM = 12_000
MAX_README = 60_000
EXAMPLE_FILE = re.compile(
    r"(^|/)(examples?|gallery|demos?|tutorials?)/(?!setup\.py|conf\.py)[^_/][^/]*(/[^/_]+)?\.py$", re.IGNORECASE
)
MAX_GUIDES = 12
GUIDE_FILE = re.compile(
    r"(?!licen|notice|copying|authors|change|history|news|contribut|requirements|todo).*\.(md|rst|txt)$", re.I
)
SKILL_FOLDER = os.path.join(".agents", "skills")
GUIDE_FOLDER = re.compile(r"docs?|guides?|documentation|reference|tutorials?", re.I)


def shipped_documents(
    dist: importlib.metadata.Distribution | None, spec: importlib.machinery.ModuleSpec | None
) -> dict[str, Any]:
    """Return README text, example programs and guides of a distribution, and of the package of `spec`."""
    guides = _guides(spec)
    if dist is None:
        return {"readme": "", "programs": [], "guides": guides}
    readme = dist.metadata.get("Description") or dist.metadata.get_payload() or ""  # type: ignore[attr-defined]
    shipped = sorted((path for path in dist.files or () if EXAMPLE_FILE.search(str(path))), key=str)
    steps = range(min(len(shipped), 3 * MAX_PROGRAMS))  # at even distances, so that they come from all folders
    spread = [shipped[step * len(shipped) // len(steps)] for step in steps]
    texts = [_read(str(dist.locate_file(path))) for path in spread]
    programs = [text for text in texts if text and len(text) <= MAX_PROGRAM]
    return {"readme": str(readme)[:MAX_README], "programs": programs[:MAX_PROGRAMS], "guides": guides}


def _guides(spec: importlib.machinery.ModuleSpec | None) -> list[tuple[str, str]]:
    """Return name and text of the documents in the package's folder and in its folders of documentation.

    Guides for agents come first: they are written for exactly this version. They are documents like the others.
    """
    roots = list((spec and spec.submodule_search_locations) or ())
    found = []
    for folder, _, files in os.walk(os.path.join(roots[0], SKILL_FOLDER)) if roots else ():
        found += [os.path.join(folder, name) for name in files if name == "SKILL.md"]
    found.sort()
    for folder, folders, files in os.walk(roots[0]) if roots else ():
        folders[:] = sorted(name for name in folders if GUIDE_FOLDER.fullmatch(name))
        found += [os.path.join(folder, name) for name in sorted(files) if GUIDE_FILE.match(name)]
    texts = [(os.path.relpath(path, roots[0]), _read(path, MAX_README)) for path in found[:MAX_GUIDES]]
    return [(path.replace(os.sep, "/"), text) for path, text in texts if text.strip()]


def _read(path: str, most: int = MAX_PROGRAM + 1) -> str:
    try:
        with open(path, encoding="utf-8-sig") as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return ""
