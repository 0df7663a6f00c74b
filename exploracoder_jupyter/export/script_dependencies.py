"""What a program needs to be installed, at the versions that its run recorded."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

from exploracoder_jupyter.core.types import Environment, LibraryInfo
from exploracoder_jupyter.trace.needed_packages import canonical, imported, providers, useful, versions_of

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ALWAYS: Final = sys.stdlib_module_names | {"__main__"}
_MOST_OPTIONAL: Final = 12


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Requirements as installers take them, `networkx==3.6.1`."""

    needed: tuple[str, ...]
    """Of the distributions that the code imports."""
    optional: tuple[str, ...]
    """What those can use beside what they need, and the run had."""
    unknown: tuple[str, ...]
    """Modules that are imported and belong to no recorded distribution that came from an index."""


def dependencies(
    code: str, libraries: Iterable[LibraryInfo], environment: Environment, *, pinned: bool = True, whole: bool = False
) -> Dependencies:
    """What the code needs.

    Args:
        code: Python without magics.
        libraries: those of the task, which say how their distributions are called.
        environment: the run's.
        pinned: whether to ask for the recorded versions.
        whole: whether it needs all of the libraries, for it works on values that others have made with them.
    """
    told = {info.name: info for info in libraries}
    versions = versions_of([*(f"{info.distribution}=={info.version}" for info in told.values()), *environment.packages])
    unindexed = {*map(canonical, environment.unindexed)}
    needed, unknown = list[str](), list[str]()
    for module in sorted((imported(code) | (told.keys() if whole else set())) - _ALWAYS):
        info = told.get(module)  # what has no version is of no distribution: an index may have another of its name
        names = [info.distribution] if info and info.version else providers(module, versions)
        known = [canonical(name) for name in names if _NAME.fullmatch(name) and canonical(name) not in unindexed]
        needed += known
        unknown += [] if known else [module]
    needed = list(dict.fromkeys(needed))
    optional = [name for name in _optional(needed) if name in versions and name not in {*needed, *unindexed}]

    def asked(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name}=={versions[name]}" if pinned and name in versions else name for name in names)

    return Dependencies(asked(needed), asked(optional[:_MOST_OPTIONAL]), tuple(unknown))


def _optional(names: Sequence[str]) -> list[str]:
    """What the metadata of these distributions, where they are installed here, name beside what they need."""
    return useful(line for name in names for line in _requires(name))


def _requires(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return ()
