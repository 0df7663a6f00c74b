"""Which files of a project hold credentials, by their names: dotenv files, the configuration of a clone and the like.

They are neither copied with the working directory nor shown where a folder of it is shown as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

_NAMES: Final = frozenset([".netrc", ".pypirc", ".git-credentials", ".pgpass", ".npmrc"])
_IN_CLONE: Final = frozenset(["config", "credentials", "config.worktree"])
"""Remotes are often written with a token in their address."""
_MOST_FOLDERS: Final = 5_000


def holds_credentials(path: Path) -> bool:
    """Whether a file of this path is taken for one that holds credentials."""
    if path.name in _IN_CLONE:
        return path.parent.name == ".git" or ".git/modules/" in path.as_posix()
    return path.name in _NAMES or path.name.startswith(".env")


def credentials_below(folders: Iterable[Path]) -> Iterator[Path]:
    """Files with credentials in these folders, links followed to the file; as far as can be seen in a short time."""
    walks = chain.from_iterable(os.walk(folder) for folder in sorted(folders))
    for parent, _, names in islice(walks, _MOST_FOLDERS):
        found = (Path(parent, name) for name in names)
        yield from (path.resolve() for path in found if holds_credentials(path) and path.is_file())
