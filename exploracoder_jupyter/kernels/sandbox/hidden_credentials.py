"""Finds credential files of the user that siblings never see: in the home folder, named by variables, in projects.

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
from itertools import chain, islice
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from exploracoder_jupyter.core.configuration.settings_sources import config_path
from exploracoder_jupyter.core.secrets.credential_files import BELOW_HOME, NAMED_BY_VARIABLES, is_credential_file

_FOLDER_VARIABLES: Final = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}
"""Variables that move a folder which is usually below the home folder."""

_MAX_FOLDERS: Final = 5_000


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
    for variable, usual in _FOLDER_VARIABLES.items():
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


def find_credential_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield files with credentials below these folders, links resolved; searches a limited number of folders."""
    walks = chain.from_iterable(os.walk(folder) for folder in sorted(folders))
    for parent, _, names in islice(walks, _MAX_FOLDERS):
        found = (Path(parent, name) for name in names)
        yield from (path.resolve() for path in found if is_credential_file(path) and path.is_file())
