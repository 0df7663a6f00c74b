"""`find`: which installed package can do this?"""

from __future__ import annotations

import json

from exploracoder_jupyter.ipython_extension.searching.found_packages import FoundPackages, parse_found
from exploracoder_jupyter.runs.environment_search import find as find_packages


def find(query: str, k: int = 5, *, apis: int = 3, python: str | None = None) -> FoundPackages:
    """The installed packages that match a query best, best first, each with the APIs that show why.

    Nothing is imported. The first search reads all packages, which takes a minute or more in a large environment; later
    ones read what is new. An interrupt ends the reading, and the answer comes from what was read.

    Args:
        query: what a package is to do, in plain language.
        k: how many packages, at most.
        apis: how many APIs of each, at most.
        python: the interpreter of another environment.

    Raises:
        UsageError: the query is empty.
        MissingRequirement: the other interpreter does not start.
    """
    return parse_found(json.dumps(find_packages(query, packages=k, apis=apis, python=python)))
