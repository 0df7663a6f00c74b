"""Lists and removes stored snippets, for the command line."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from importlib.metadata import packages_distributions

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.knowledge.sources import SnippetStore

Row = dict[str, JsonValue]


def snippets(library: str | None = None) -> list[Row]:
    """List the stored snippets of a library (by import or distribution name) or of all, most recently used first."""
    store = SnippetStore(snippets_path())
    names = _names(library) if library else None
    found = [one for one in store.all() if names is None or one.snippet.library in names]
    return [
        {"id": one.id, **asdict(one.snippet), "apis": [*one.snippet.apis], "uses": one.uses, "used_at": one.seen}
        for one in sorted(found, key=lambda one: one.seen, reverse=True)
    ]


def clear_snippets(library: str | None = None) -> int:
    """Remove the stored snippets of a library, or all, and return how many were removed.

    Raises:
        UsageError: the file cannot be changed.
    """
    store = SnippetStore(snippets_path())
    try:
        return sum(store.clear(name) for name in (_names(library) if library else [None]))
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"{store.path} cannot be changed: {error}.", remedy="Close the programs that use it, or remove the file."
        ) from error


def _names(library: str) -> list[str]:
    wanted = library.lower().replace("_", "-")
    installed = packages_distributions().items()
    modules = {name for name, providers in installed if wanted in {one.lower().replace("_", "-") for one in providers}}
    return sorted({library, *modules})
