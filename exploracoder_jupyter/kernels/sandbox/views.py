"""What siblings see of the user: environment variables, and files without credentials, with the mounts for this
view.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, count, islice
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from jupyter_core.paths import jupyter_runtime_dir

from exploracoder_jupyter.core.configuration.sources import config_path
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.secrets.credential_files import (
    BELOW_HOME,
    NAMED_BY_VARIABLES,
    contains_credentials,
    is_credential_file,
)
from exploracoder_jupyter.core.secrets.secret_names import is_secret_variable

# The environment variables that a sibling gets: an allow-list.
#
# A variable passes if it is listed and neither its name nor its value looks like a secret.

_ALLOWED: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|"
    r"VIRTUAL_ENV|CONDA_(PREFIX|DEFAULT_ENV|EXE|PYTHON_EXE|SHLVL)|PYTHON(PATH|HOME|HASHSEED|UTF8|IOENCODING|WARNINGS)|"
    r"(DY)?LD_LIBRARY_PATH|LD_PRELOAD|(OMP|MKL|OPENBLAS|NUMEXPR|NUMBA|RAYON|POLARS|VECLIB)_\w+|"
    r"CUDA\w*|NVIDIA_\w+|ROCM_\w+|HIP_\w+|XLA_\w+|JAX_\w+|TF_(CPP|XLA|ENABLE|FORCE|GPU|NUM)_\w+|KERAS_(BACKEND|HOME)|"
    r"MPL(CONFIGDIR|STYLE)|FONTCONFIG_\w+|XDG_(CACHE|CONFIG|DATA)_(HOME|DIRS)|XDG_DATA_DIRS|"
    r"HF_(HOME|HUB_CACHE|HUB_OFFLINE|DATASETS_CACHE)|TORCH_HOME|NLTK_DATA|SCIKIT_LEARN_DATA|"
    r"JAVA_HOME|SPARK_HOME|R_HOME|JULIA_DEPOT_PATH|GDAL_\w+|PROJ_\w+|GEOS_\w+|"
    r"SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NIX_\w+|LOCALE_ARCHIVE"
)
_ALLOWED_ON_WINDOWS: Final = re.compile(
    r"SYSTEM(ROOT|DRIVE)|WINDIR|COMSPEC|PATHEXT|USER(PROFILE|NAME)|HOME(DRIVE|PATH)|(LOCAL)?APPDATA|OS|"
    r"PROGRAM(DATA|FILES|FILES\(X86\))|PROCESSOR_ARCHITECTURE|NUMBER_OF_PROCESSORS",
    re.IGNORECASE,
)
"""Without the first one, no socket can be opened there."""
_PROXIES: Final = re.compile(r"(HTTP|HTTPS|NO|ALL)_PROXY", re.IGNORECASE)
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_MAX_THREADS: Final = 4


def allowed_environment(environ: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """Return the variables that a sibling gets; numerical libraries use few threads unless the user sets more.

    Several siblings run at once, and each thread of a numerical library reserves memory that counts as used.
    """
    passed = {name: value for name, value in environ.items() if _is_allowed(name, value, network=network)}
    threads = str(max(1, min(_MAX_THREADS, os.cpu_count() or 1)))
    return {**dict.fromkeys(_THREADS, threads), **passed}


def _is_allowed(name: str, value: str, *, network: bool) -> bool:
    if is_secret_variable(name, value):
        return False
    if sys.platform == "win32" and _ALLOWED_ON_WINDOWS.fullmatch(name):
        return True
    return bool(_ALLOWED.fullmatch(name)) or (network and bool(_PROXIES.fullmatch(name)))


# Finds files of the user that siblings never see: credentials in the home folder, named by variables, in projects;
# and in projects sockets, named pipes and devices, by which other programs can be reached through a read-only
# folder.
#
# Those of the home folder are hidden whatever else of it is shown (see `views`). Those of a project
# are not copied with the working directory, and are hidden where a folder of it is shown directly.

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
    if account := system.account_home():
        homes.add(account)
    return {home for home in homes if home != home.parent}


def maskable_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that can be masked now, and have to be.

    A file that has been deleted since it was found cannot be mounted over. A path in a folder that this user may enter
    only with the privileges of root cannot either, and is closed to experiments, which run without these privileges.
    """

    @cache
    def can_be_entered(folder: Path) -> bool:
        return system.can_enter(folder) and (folder.parent == folder or can_be_entered(folder.parent))

    return tuple(path for path in paths if os.path.lexists(path) and can_be_entered(path.parent))


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


# Decides which of the user's files experiments can see: the home folder is covered, except for what they need.
#
# They need the interpreter with its packages (editable ones may be anywhere), paths in their environment variables,
# data that libraries have downloaded, the project around the working directory, and the paths given with
# `--allow-read`. Folders elsewhere that stand for one in the home folder (`XDG_CACHE_HOME`) are covered like it.
# Within all of these, files that usually contain credentials stay hidden. Where the working directory is the home
# folder itself, entries that begin with a dot are not shown, with the same exceptions.

_PROJECT_MARKERS: Final = (".git", ".hg", "pyproject.toml", "setup.py", "environment.yml")
_SYSTEM: Final = frozenset(["usr", "etc", "nix", "gnu"])
_INTERPRETER_PARTS: Final = ("lib/python*/site-packages", "site-packages")
_IGNORED_VARIABLES: Final = frozenset(["HOME", "PWD", "OLDPWD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"])

# fmt: off
_DOWNLOADED: Final = (
    ".cache/huggingface/hub", ".cache/huggingface/datasets", ".cache/torch", ".cache/fontconfig", ".cache/uv",
    ".cache/matplotlib", ".cache/whisper", ".config/matplotlib", ".fonts", ".local/share/fonts", ".keras/datasets",
    ".keras/models", "nltk_data", "scikit_learn_data", "seaborn-data", "tensorflow_datasets",
)
# fmt: on
"""Below the home folder: models, data sets and fonts that libraries load and cannot download without a network."""


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """The shown and hidden paths. For nested folders, the innermost entry applies."""

    covered: tuple[Path, ...]
    """Folders that appear empty except for shown paths in them."""
    shown: tuple[Path, ...]
    hidden: tuple[Path, ...]
    """Files and folders that appear empty, wherever they are."""
    workdir: Path = Path()
    private: tuple[Path, ...] = ()
    """Private files in the working directory, for programs that see it directly and not as a copy."""
    named: tuple[Path, ...] = ()
    """Paths given with `--allow-read`, which are shown whatever they are."""

    def covers(self, path: str) -> bool:
        """Whether something exists at this path, relative to the working directory, that experiments cannot see.

        Always false for paths that begin with a dot, because even their existence is private.
        """
        place = Path(os.path.normpath(self.workdir / path))
        if any(part.startswith(".") for part in place.parts):
            return False
        if place in self.hidden or place in self.private:
            return os.access(place, os.F_OK)
        ends = {**dict.fromkeys(self.covered, True), **dict.fromkeys((*self.shown, self.workdir), False)}
        around = next((ends[part] for part in (place, *place.parents) if part in ends), False)
        return around and os.access(place, os.F_OK)


def find_visible_files(
    environ: Mapping[str, str], *, workdir: Path, needed: Iterable[Path], allow_read: Iterable[str] = ()
) -> VisibleFiles:
    """Return the files that experiments can see. Reads folders; blocks.

    `needed`: what the interpreter imports from, as returned by `needed_by_interpreter`. `allow_read`: paths given by
    the user, relative to the working directory.
    """
    homes = home_folders(environ)
    covered = tuple(home for home in homes if os.path.isdir(home) and not home.is_relative_to(workdir))  # noqa: PTH112
    project, private = _find_project(workdir, homes)
    in_workdir = private if project else find_private_files([workdir])  # one walk for both
    moved = _moved_folders(environ, (*homes, workdir))
    downloaded = [home / name for home in homes for name in _DOWNLOADED]
    for folder, usual in moved.items():
        inside = (name.removeprefix(usual).lstrip("/") for name in _DOWNLOADED if name.startswith(f"{usual}/"))
        downloaded += [folder / name for name in inside]
    sources = {*needed, *_paths_in_variables(environ), *_linked_sources(needed)}
    candidates = [*sources, *downloaded, *project]
    found = {path for path in candidates if not any(home.is_relative_to(path) for home in homes)}
    named = named_paths(workdir, allow_read)
    searched = {*named, *filter(_is_source_folder, found.intersection(sources))}
    private_in_shown = find_private_files(path for path in searched if not path.is_relative_to(workdir))
    hidden = {*hidden_paths(environ), *private, *private_in_shown, *_dot_entries(homes, covered)} - named
    shown = tuple(sorted(_with_targets(found) | named))
    own = tuple(path for path in in_workdir if path not in named)
    return VisibleFiles((*covered, *moved), shown, tuple(sorted(hidden)), workdir, own, tuple(sorted(named)))


def _moved_folders(environ: Mapping[str, str], around: Iterable[Path]) -> dict[Path, str]:
    """Return the folders outside of the home folders that stand for one there, with its usual path in a home folder;
    without those that contain something else, such as a home folder, or that this user cannot write."""
    given = {Path(environ[name]).resolve(): usual for name, usual in FOLDER_VARIABLES.items() if environ.get(name)}
    return {
        folder: usual
        for folder, usual in given.items()
        if os.access(folder, os.W_OK | os.X_OK) and folder.is_dir() and not _SYSTEM.intersection(folder.parts[1:2])
        if not any(path.is_relative_to(folder) or folder.is_relative_to(path) for path in around)
    }


def named_paths(workdir: Path, allow_read: Iterable[str]) -> set[Path]:
    """Return the existing paths given with `--allow-read`, relative to the working directory, and their targets."""
    return _with_targets(workdir / Path(path).expanduser() for path in allow_read)


def _with_targets(paths: Iterable[Path]) -> set[Path]:
    """Return the existing paths and the targets of their symbolic links."""
    found = {path for path in paths if os.access(path, os.F_OK)}  # `Path.exists` raises without permission
    return found | {path.resolve() for path in found}


def _paths_in_variables(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files and folders named by variables that experiments have as well."""
    for name, value in allowed_environment(environ, network=False).items():
        if name not in _IGNORED_VARIABLES:
            yield from (Path(part) for part in value.split(os.pathsep) if os.path.isabs(part))  # noqa: PTH117


def _linked_sources(needed: Iterable[Path]) -> Iterator[Path]:
    """Yield the sources of editable packages (PEP 610), which the import path may not contain."""
    for folder in needed:
        for pattern in ("*.dist-info/direct_url.json", "lib/python*/site-packages/*.dist-info/direct_url.json"):
            for record in folder.glob(pattern):
                with suppress(OSError, ValueError, AttributeError):
                    content = json.loads(record.read_text(encoding="utf-8"))
                    if content.get("dir_info", {}).get("editable"):
                        yield Path(unquote(urlsplit(content["url"]).path))


def _is_source_folder(path: Path) -> bool:
    """Whether this is a folder of somebody's own, and not an environment or a folder of the system."""
    if not path.is_dir() or path.name in ENVIRONMENT_FOLDERS or _SYSTEM.intersection(path.resolve().parts[1:2]):
        return False
    return not any(next(path.glob(marker), None) for marker in (*ENVIRONMENT_MARKERS, *_INTERPRETER_PARTS))


def _find_project(workdir: Path, homes: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the outermost project folder around the working directory, and the private files in it.

    A project with too many folders is not shown, because it cannot be searched quickly.
    """
    marked = [
        folder
        for folder in workdir.parents
        if any(folder.is_relative_to(home) and folder != home for home in homes)
        and any((folder / mark).exists() for mark in _PROJECT_MARKERS)
    ]
    if not marked:
        return [], []
    folders = list(islice(walk_private_files(marked[-1]), MAX_FOLDERS + 1))
    if len(folders) > MAX_FOLDERS:
        return [], []
    return [marked[-1]], [path for found in folders for path in found]


def _dot_entries(homes: Iterable[Path], covered: Iterable[Path]) -> Iterator[Path]:
    """Yield the entries that begin with a dot in the homes that are not covered."""
    for home in set(homes).difference(covered):
        with suppress(OSError):
            yield from (entry for entry in home.iterdir() if entry.name.startswith("."))


# The files that a sibling can see, and the mounts that make this view.
#
# Spawned siblings mount it with bubblewrap (`spawn_isolation`), forks with system calls (`fork_sandbox`).

_TEMPORARY: Final = ("/tmp", "/var/tmp")
_DEVICES: Final = ("nvidia*", "kfd", "dri", "dxg")
_NETWORK_FILES: Final = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf")
_SYSTEM_IN_RUN: Final = ("/run/current-system", "/run/opengl-driver", "/run/host")


@dataclass(frozen=True, slots=True)
class FileView:
    """The files that one process can see."""

    workdir: Path
    """The real path of the working directory, where it appears."""
    copy: Path | None = None
    """The folder shown there, writable; `None` shows the working directory itself, read-only."""
    temporary: Path | None = None
    """The folder shown as `/tmp`, writable; `None` where forks provide their own."""
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Paths that stay readable even below a path that is hidden or replaced."""
    borrowed: tuple[Path, ...] = ()
    """Paths within the working directory that are shown read-only, directly from the original."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that appear empty."""
    covered: tuple[Path, ...] = ()
    """Folders that appear empty except for paths listed in the other fields: the home folder. What is written in them
    is gone with the process."""
    private: Path | None = None
    """A folder that shows only the paths listed as readable or writable, so that siblings do not see one another."""
    shared_memory: int = 1 << 30
    """Size of `/dev/shm` in bytes: its memory is not charged to any process."""
    overlaid: bool = False
    """Whether forks mount their own copy of the working directory there."""

    @property
    def copied(self) -> bool:
        """Whether a copy replaces the working directory."""
        return self.overlaid or self.copy is not None


MountKind = Literal[
    "root", "dev", "device", "proc", "tmpfs", "shm", "temporary", "layer", "folder", "bind", "workdir", "null", "write"
]
"""`layer`: a folder that is empty at first, and writable; `folder`: the same, within another one."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One step in building a view: an option of bubblewrap, or a system call in a fork
    (`kernel_agent.confinement.namespaces`)."""

    kind: MountKind
    source: str
    target: str


def plan_mounts(view: FileView, *, network: bool) -> list[Mount]:
    """Return the mounts that make a view, in order: inner paths are mounted after, and over, outer ones."""
    devices = [path for pattern in _DEVICES for path in Path("/dev").glob(pattern)]
    return [
        Mount("root", "/", "/"),
        Mount("dev", "", "/dev"),
        *(Mount("device", str(path), str(path)) for path in devices),
        Mount("proc", "", "/proc"),
        *_run_folder(network=network),
        Mount("shm", "", "/dev/shm"),
        *_mount_places(view),
        *(Mount("write", str(path), str(path)) for path in view.writable),
    ]


def _mount_places(view: FileView) -> Iterator[Mount]:
    """Yield the mounts that show or hide paths: outer ones first, the working directory last, whose copy may come from
    anywhere."""
    temporary = [path for path in map(Path, _TEMPORARY) if path.is_dir() and not path.is_symlink()]
    kinds: dict[Path, MountKind] = {Path("/"): "root", Path("/run"): "tmpfs"}
    kinds |= dict.fromkeys(view.covered, "layer")
    kinds |= dict.fromkeys((*view.readable, *view.borrowed), "bind")
    kinds |= {path: "tmpfs" if path.is_dir() else "null" for path in view.hidden}
    kinds |= dict.fromkeys(temporary, "temporary")
    kinds[view.workdir] = "workdir"
    if view.private is not None:
        kinds[view.private] = "tmpfs"
    for path in sorted(kinds, key=lambda path: (path.is_relative_to(view.workdir), len(path.parts), path)):
        if path in (Path("/"), Path("/run")):
            continue
        kind, around = kinds[path], next(kinds[parent] for parent in path.parents if parent in kinds)
        filled = around in ("root", "bind") or (around == "workdir" and not view.copied)
        if kind == "bind" and filled and path not in view.borrowed:
            continue  # visible with the folder around it
        if kind == "layer" and not filled:  # it is as empty and as writable as the folder around it
            kind = "folder"
        if kind in ("null", "tmpfs") and path != view.private and not filled:
            continue  # hidden with the folder around it
        yield Mount(kind, str(path) if kind == "bind" else "", str(path))


def _run_folder(*, network: bool) -> list[Mount]:
    """Return mounts for an empty `/run`: its sockets (containers, desktop, agents) work even if mounted read-only."""
    if not Path("/run").is_dir():
        return []
    kept = [*_SYSTEM_IN_RUN, *(_NETWORK_FILES if network else ())]
    return [Mount("tmpfs", "", "/run"), *(Mount("bind", path, path) for path in kept)]
