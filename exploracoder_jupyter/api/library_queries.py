"""`search`: the documentation of installed libraries, without a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from anyio.from_thread import start_blocking_portal

from exploracoder_jupyter.core.configuration.explore_options import nest_settings
from exploracoder_jupyter.ipython_extension.searching.search_results import Results, parse_results
from exploracoder_jupyter.runs.library_search import search as search_libraries


def search(library: str | Sequence[str], query: str, k: int = 10, **options: Any) -> Results:
    """The APIs of a library that are nearest to a query, best first; the library is read at the first search.

    Args:
        library: distribution or import name, or several.
        query: what to do, in plain language, or a name.
        k: how many results, at most.
        options: the options of `jupyter explora search`, with underscores, such as `docs=["guide.md"]`.

    Raises:
        UsageError: a library is not installed.
    """
    names = [library] if isinstance(library, str) else list(library)

    async def main() -> Results:
        return parse_results(json.dumps(await search_libraries(names, query, k, layers=(nest_settings(options),))))

    with start_blocking_portal(name="search") as portal:  # an event loop may be running here
        return portal.call(main)
