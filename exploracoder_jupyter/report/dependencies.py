"""What a program needs to be installed, at the versions that its run recorded."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

from exploracoder_jupyter.inside.docs_walk import normal, owners
from exploracoder_jupyter.types import LibraryInfo

_PINNED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._!]*)(?:\+[A-Za-z0-9.]+)?")
"""A local version, as in `2.9.0+cu130`, is left out: no index has it."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAMED_OTHERWISE: Final[Mapping[str, tuple[str, ...]]] = {
    "PIL": ("pillow",),
    "bs4": ("beautifulsoup4",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "fitz": ("pymupdf",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
}
"""For traces of environments that are not here, where nobody can be asked."""
_ALWAYS: Final = sys.stdlib_module_names | {"__main__"}
_EXTRA: Final = re.compile(r"extra == ['\"](?!test|dev|doc|lint|typing|bench|example|release|ci\b)")
_MOST_OPTIONAL: Final = 12


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Requirements as installers take them, `networkx==3.6.1`."""

    needed: tuple[str, ...]
    """Of the distributions that the code imports."""
    optional: tuple[str, ...]
    """What those can use beside what they need, and the run had."""
    unknown: tuple[str, ...]
    """Modules that are imported and belong to no recorded distribution."""


def dependencies(
    code: str, libraries: Iterable[LibraryInfo], packages: Iterable[str], *, pinned: bool = True, whole: bool = False
) -> Dependencies:
    """What the code needs.

    Args:
        code: Python without magics.
        libraries: those of the task, which say how their distributions are called.
        whole: whether it needs all of the libraries, for it works on values that others have made with them.
        packages: `name==version` lines of the run's environment.
        pinned: whether to ask for the recorded versions.
    """
    told = {info.name: info for info in libraries}
    versions = _versions([*(f"{info.distribution}=={info.version}" for info in told.values()), *packages])
    needed, unknown = list[str](), list[str]()
    for module in sorted((imported(code) | (told.keys() if whole else set())) - _ALWAYS):
        info = told.get(module)  # what has no version is of no distribution: an index may have another of its name
        names = [info.distribution] if info and info.version else _providers(module, versions)
        known = [normal(name) for name in names if _NAME.fullmatch(name)]
        needed += known
        unknown += [] if known else [module]
    needed = list(dict.fromkeys(needed))
    optional = [name for name in _optional(needed) if name in versions and name not in needed]

    def asked(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name}=={versions[name]}" if pinned and name in versions else name for name in names)

    return Dependencies(asked(needed), asked(optional[:_MOST_OPTIONAL]), tuple(unknown))


def imported(code: str) -> set[str]:
    """The top-level modules that the code imports, anywhere in it."""
    return {name for node in ast.walk(ast.parse(code)) for name in _named(node)}


def imported_at_once(code: str) -> set[str]:
    """Those of them without which it does not even begin: not within a function, an `if` or a `try`."""
    return {name for node in ast.parse(code).body for name in _named(node)}


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of `name==version` lines by the name as indexes compare it; of two lines the later one counts."""
    return {normal(found[1]): found[2] for line in packages if (found := _PINNED.fullmatch(line))}


def _providers(module: str, versions: Mapping[str, str]) -> list[str]:
    """The recorded distributions that provide a module."""
    known = (*owners().get(module, ()), *_NAMED_OTHERWISE.get(module, ()), module)
    return list(dict.fromkeys(normal(name) for name in known if normal(name) in versions))


def _optional(names: Sequence[str]) -> list[str]:
    """What the metadata of these distributions, where they are installed here, name beside what they need."""
    lines = [line for name in names for line in _requires(name) if _EXTRA.search(line)]
    return list(dict.fromkeys(normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines))


def _requires(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return ()
