"""Finds files of the user that siblings never see: credentials in the home folder, named by variables, in projects; and
in projects sockets, named pipes and devices, by which other programs can be reached through a read-only folder.

Those of the home folder are hidden whatever else of it is shown (see `visible_home_files`). Those of a project are not
copied with the working directory, and are hidden where a folder of it is shown directly.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain, count, islice
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from exploracoder_jupyter.core.configuration.settings_sources import config_path
from exploracoder_jupyter.core.secrets.credential_files import (
    BELOW_HOME,
    NAMED_BY_VARIABLES,
    contains_credentials,
    is_credential_file,
)

FOLDER_VARIABLES: Final = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}
"""Variables that move a folder which is usually below the home folder."""

ENVIRONMENT_FOLDERS: Final = frozenset(["site-packages", "dist-packages", "node_modules", "__pycache__"])
"""Names of folders with what was installed or built, in which no private files are searched."""
ENVIRONMENT_MARKERS: Final = ("pyvenv.cfg", "conda-meta")
"""Entries by which a folder is known as an environment of Python."""

MAX_FOLDERS: Final = 5_000
"""Limit on the folders in which private files are searched."""
_MAX_READ: Final = 20_000
"""Limit on the files below one folder that are judged by their content too; each takes up to 0.1 ms."""


def hidden_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the existing files and folders that contain credentials, symbolic links resolved, without duplicates."""
    homes = home_folders(environ)
    found = {path.resolve() for path in _candidates(environ) if _exists(path)}
    found = {path for path in found if not any(home.is_relative_to(path) for home in homes)}
    return tuple(sorted(path for path in found if not any(parent in found for parent in path.parents)))


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for home in _homes(environ):
        yield from (home / name for name in BELOW_HOME)
    yield config_path()
    yield config_path().parent if config_path().parent.name == "exploracoder_jupyter" else config_path()
    yield Path(jupyter_runtime_dir())
    for variable, usual in FOLDER_VARIABLES.items():
        if environ.get(variable):
            beside = (name for name in BELOW_HOME if name.startswith(f"{usual}/"))
            yield from (Path(environ[variable], name.removeprefix(f"{usual}/")) for name in beside)
    for name, files in NAMED_BY_VARIABLES.items():
        for place in filter(None, environ.get(name, "").split(os.pathsep)):
            yield from (Path(place, file) for file in files)


def home_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's home folders, symbolic links resolved: the one in `HOME`, and the one of the account."""
    return tuple(sorted({home.resolve() for home in _homes(environ)}))


def _homes(environ: Mapping[str, str]) -> set[Path]:
    homes = {Path(environ["HOME"])} if environ.get("HOME") else set()
    with suppress(KeyError):  # a user id without an account, as in containers
        homes.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return {home for home in homes if home != Path("/")}


def maskable_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that can be masked now, and have to be.

    A file that has been deleted since it was found cannot be mounted over. A path in a folder that this user may enter
    only with the privileges of root cannot either, and is closed to experiments, which run without these privileges.
    """

    @cache
    def can_be_entered(folder: Path) -> bool:
        return _modes_allow(folder) and (folder.parent == folder or can_be_entered(folder.parent))

    return tuple(path for path in paths if os.path.lexists(path) and can_be_entered(path.parent))


def _modes_allow(folder: Path) -> bool:
    """Whether file modes alone let this user enter the folder."""
    if os.geteuid() != 0:
        return os.access(folder, os.X_OK)
    status = folder.stat()
    if status.st_uid == 0:
        return bool(status.st_mode & stat.S_IXUSR)
    in_group = status.st_gid in (os.getegid(), *os.getgroups())
    return bool(status.st_mode & (stat.S_IXGRP if in_group else stat.S_IXOTH))


def _exists(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except OSError:
        return False


def find_private_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the private files below these folders, links resolved; searches a limited number of folders."""
    found = chain.from_iterable(map(walk_private_files, sorted(folders)))
    return chain.from_iterable(islice(found, MAX_FOLDERS))


def walk_private_files(folder: Path) -> Iterator[list[Path]]:
    """Yield for this folder and each below it the private files that it contains, links resolved."""
    waiting, files = [str(folder)], count()
    while waiting:
        found: list[Path] = []
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in ENVIRONMENT_FOLDERS:
                        waiting.append(entry.path)
                elif is_private_file(entry, read=next(files) < _MAX_READ):
                    found.append(Path(entry.path).resolve())
        yield found


def is_private_file(entry: os.DirEntry[str], *, read: bool = True) -> bool:
    """Whether an entry that is not a folder is a file with credentials, or leads to other programs. `read`: whether
    content counts as well as names."""
    path, is_link = Path(entry.path), entry.is_symlink()
    if not (is_link or entry.is_file(follow_symlinks=False)):
        return True
    secret = contains_credentials(path) if read else is_credential_file(path)
    return secret and (not is_link or _exists(path))
