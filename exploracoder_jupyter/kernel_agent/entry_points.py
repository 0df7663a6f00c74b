"""Lists the plugins that are registered as entry points, this package's own among them, without importing any.

The groups are `exploracoder_jupyter.models`, `.sources`, `.summarizers`, `.exporters` and `.strategies`. This package's
own entry points are read beside it: from `pyproject.toml` in a source tree, so that they are current however the tree
was installed, and otherwise from the metadata of the installation or of the archive that is sent to kernels. Those of
other distributions are found on the import path without the working directory: what appears there is not installed.

As a program, prints the summarizers of this interpreter as JSON, each with the error if it cannot be loaded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = "exploracoder-jupyter"
PREFIX = "exploracoder_jupyter."
GROUPS = ("models", "sources", "summarizers", "exporters", "strategies")
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder or archive that contains this package."""


class Plugin(NamedTuple):
    """One registered entry point."""

    group: str
    name: str
    value: str
    """What to import: `module` or `module:attribute`."""
    distribution: str
    version: str

    @property
    def built_in(self) -> bool:
        """Whether it belongs to this package."""
        return self.distribution == PACKAGE

    @property
    def origin(self) -> str:
        """The distribution with its version."""
        return f"{self.distribution} {self.version}"

    def load(self) -> Any:
        """Import the plugin. Raises whatever the import raises."""
        from importlib.metadata import EntryPoint

        return EntryPoint(self.name, self.value, f"{PREFIX}{self.group}").load()


@cache
def own_plugins() -> tuple[Plugin, ...]:
    """Return this package's own plugins; empty if its metadata is missing."""
    from importlib import metadata

    own = metadata.distributions(name=PACKAGE, path=[_HOME])
    return tuple(_read_source_tree() or (plugin for one in own for plugin in _plugins_of(one, PACKAGE)))


@cache
def registered(group: str) -> tuple[Plugin, ...]:
    """Return the plugins of a group: this package's own first, the others by distribution."""
    return tuple(plugin for plugin in (*own_plugins(), *_foreign_plugins()) if plugin.group == group)


def clear() -> None:
    """Forget what was found."""
    for cached in (own_plugins, registered, _foreign_plugins):
        cached.cache_clear()


def _read_source_tree() -> list[Plugin]:
    project: dict[str, Any] = {}
    path = os.path.join(_HOME, "pyproject.toml")
    with suppress(OSError, KeyError, ValueError, ImportError), open(path, "rb") as file:
        import tomllib  # from Python 3.11; a kernel may be older, and finds an archive here

        project = tomllib.load(file)["project"]
    return [
        Plugin(group.removeprefix(PREFIX), name, value, PACKAGE, project["version"])
        for group, entries in (project["entry-points"].items() if project.get("name") == PACKAGE else ())
        if group.startswith(PREFIX)
        for name, value in entries.items()
    ]


@cache
def _foreign_plugins() -> tuple[Plugin, ...]:
    from importlib import metadata

    found: dict[str, list[Plugin]] = {}
    for distribution in metadata.distributions(path=search_path()):
        with suppress(Exception):  # metadata that cannot be read registers nothing
            if PREFIX in (distribution.read_text("entry_points.txt") or ""):
                name = str(distribution.metadata["Name"])
                found.setdefault(name, [*_plugins_of(distribution, name)])
    return tuple(plugin for name in sorted(found) if name not in (PACKAGE, "None") for plugin in found[name])


def search_path() -> list[str]:
    """Return the import path without the working directory."""
    found = []
    for entry in filter(None, sys.path):
        same = False
        with suppress(OSError):  # one of them may not exist
            same = os.path.samefile(entry, os.curdir)
        if not same:
            found.append(entry)
    return found


def _plugins_of(distribution: Distribution, name: str) -> Iterator[Plugin]:
    for entry in distribution.entry_points:
        group = entry.group.removeprefix(PREFIX)
        if entry.group.startswith(PREFIX) and group in GROUPS:
            yield Plugin(group, entry.name, entry.value, name, distribution.version)


def _load_problem(plugin: Plugin) -> str:
    try:
        plugin.load()
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    print(json.dumps([(*plugin, _load_problem(plugin)) for plugin in registered("summarizers")]))
