"""Recognizes files with credentials in a project by name: dotenv files, the configuration of a clone and the like.

They are not copied with the working directory, and are hidden where a folder of it is shown directly.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

_CREDENTIAL_NAMES: Final = frozenset([".netrc", ".pypirc", ".git-credentials", ".pgpass", ".npmrc"])
_IN_CLONE: Final = frozenset(["config", "credentials", "config.worktree"])
"""Addresses of remotes often contain a token."""
_MAX_FOLDERS: Final = 5_000


def is_credential_file(path: Path) -> bool:
    """Whether the file is assumed to contain credentials, judging by its path."""
    if path.name in _IN_CLONE:
        return path.parent.name == ".git" or ".git/modules/" in path.as_posix()
    return path.name in _CREDENTIAL_NAMES or path.name.startswith(".env")


def find_credential_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield files with credentials below these folders, links resolved; searches a limited number of folders."""
    walks = chain.from_iterable(os.walk(folder) for folder in sorted(folders))
    for parent, _, names in islice(walks, _MAX_FOLDERS):
        found = (Path(parent, name) for name in names)
        yield from (path.resolve() for path in found if is_credential_file(path) and path.is_file())
