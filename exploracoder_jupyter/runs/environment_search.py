"""Searches everything that is installed in an environment, for the command line and the Python API."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.knowledge.environment.environment_index import open_environment
from exploracoder_jupyter.knowledge.environment.installed_packages import import_path
from exploracoder_jupyter.knowledge.environment.package_ranking import rank_packages

if TYPE_CHECKING:
    from pydantic import JsonValue  # slow to import, and the command answers in less

    Row = dict[str, JsonValue]

EMPTY_QUERY = "The query is empty."


def environments_path() -> Path:
    """Return the folder that keeps what was read of each environment."""
    return user_cache_path("exploracoder_jupyter") / "environments"


def find(
    query: str,
    *,
    packages: int = 5,
    apis: int = 3,
    python: str | None = None,
    cache: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Row:
    """Return the installed packages that match a query best, as `find --json` prints it.

    Packages that were installed since the last search are read first; an interrupt ends that, and the answer comes from
    what was read. `python`: the interpreter of another environment. `cache`: the folder that keeps what was read.

    Raises UsageError if the query is empty, and MissingRequirement if the other interpreter does not start.
    """
    if not any(map(str.isalnum, query)):
        raise UsageError(EMPTY_QUERY, remedy="Describe in words what a package is to do.")
    start = time.monotonic()
    folders = import_path(str(Path(python).expanduser()) if python else None)
    with open_environment(cache or environments_path(), folders, advance=progress) as index:
        found = rank_packages(index, query, packages=packages, apis=apis)
        return {
            "query": query,
            "packages": [asdict(one) | {"apis": [asdict(api) for api in one.apis]} for one in found],
            "installed": index.installed,
            "read": index.read,
            "newly_read": index.changed,
            "apis": index.store.size(),
            "notices": [*index.notices],
            "seconds": round(time.monotonic() - start, 3),
        }
