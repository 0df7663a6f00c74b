"""`search`: the documentation of installed libraries, without a run."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import anyio

from exploracoder_jupyter.core.command_options import nest_settings
from exploracoder_jupyter.frontend.searching.search_results import Results, parse_results
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
    found: list[Results | BaseException] = []

    async def main() -> Results:
        return parse_results(json.dumps(await search_libraries(names, query, k, layers=(nest_settings(options),))))

    def work() -> None:
        try:
            found.append(anyio.run(main))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work, name="search")  # an event loop may be running here
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]
