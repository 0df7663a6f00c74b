"""Determines the distributions that a program requires, with the versions recorded in its run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

from exploracoder_jupyter.core.types import Environment, LibraryInfo
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.trace.module_distributions import (
    imported_modules,
    optional_requirements,
    parse_versions,
    providing_distributions,
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BUILT_IN: Final = sys.stdlib_module_names | {"__main__"}
_MAX_OPTIONAL: Final = 12


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Requirements in the format of installers, e.g. `networkx==3.6.1`."""

    needed: tuple[str, ...]
    """The distributions that the code imports."""
    optional: tuple[str, ...]
    """Optional dependencies of those that were installed in the run."""
    unknown: tuple[str, ...]
    """Imported modules that do not belong to a recorded distribution from a package index."""


def find_dependencies(
    code: str, libraries: Iterable[LibraryInfo], environment: Environment, *, pinned: bool = True, whole: bool = False
) -> Dependencies:
    """Find the requirements of code without magics, with the recorded versions if `pinned`.

    If it is `whole`, it needs all libraries of the task, because it uses values created elsewhere with them.
    """
    by_name = {info.name: info for info in libraries}
    versions = parse_versions(
        [*(f"{info.distribution}=={info.version}" for info in by_name.values()), *environment.packages]
    )
    unindexed = {*map(normalize_name, environment.unindexed)}
    needed, unknown = list[str](), list[str]()
    for module in sorted((imported_modules(code) | (by_name.keys() if whole else set())) - _BUILT_IN):
        info = by_name.get(module)  # no version: not a distribution, and an index may have another of its name
        names = [info.distribution] if info and info.version else providing_distributions(module, versions)
        known = [
            normalize_name(name) for name in names if _NAME.fullmatch(name) and normalize_name(name) not in unindexed
        ]
        needed += known
        unknown += [] if known else [module]
    needed = list(dict.fromkeys(needed))
    extras = optional_requirements(line for name in needed for line in _requires(name))
    optional = [name for name in extras if name in versions and name not in {*needed, *unindexed}]

    def requirements(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name}=={versions[name]}" if pinned and name in versions else name for name in names)

    return Dependencies(requirements(needed), requirements(optional[:_MAX_OPTIONAL]), tuple(unknown))


def _requires(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return ()
