"""The kept snippets, for people: what there is, and how it goes away."""

from __future__ import annotations

import sqlite3
from importlib.metadata import packages_distributions

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import snippets_path
from exploracoder_jupyter.knowledge.sources import Kept, SnippetStore

Row = dict[str, JsonValue]


def snippets(library: str | None = None) -> list[Row]:
    """What is kept of a library, by import or distribution name, or of all; a row each, the last used first."""
    store = SnippetStore(snippets_path())
    names = _names(library) if library else None
    return [_row(one) for one in store.all() if names is None or one.snippet.library in names]


def clear_snippets(library: str | None = None) -> int:
    """Remove what is kept of a library, or everything; how many snippets that were.

    Raises:
        UsageError: the file cannot be changed.
    """
    store = SnippetStore(snippets_path())
    try:
        return sum(store.clear(name) for name in (_names(library) if library else [None]))
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"{store.path} cannot be changed: {error}.", remedy="End what uses it, or remove the file."
        ) from error


def _names(library: str) -> list[str]:
    """The import names that are meant: the name itself, and those of the distribution of this name."""
    wanted = library.lower().replace("_", "-")
    found = packages_distributions().items()
    given = {name for name, held in found if wanted in {one.lower().replace("_", "-") for one in held}}
    return sorted({library, *given})


def _row(kept: Kept) -> Row:
    one = kept.snippet
    return {
        "id": kept.id,
        "library": one.library,
        "version": one.version,
        "python": one.python,
        "title": one.title,
        "code": one.code,
        "apis": list(one.apis),
        "observed": one.observed,
        "uses": kept.uses,
        "used_at": kept.seen,
    }
