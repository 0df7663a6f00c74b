"""Decides which of the user's files experiments can see: the home folder is covered, except for what they need.

They need the interpreter with its packages (editable ones may be anywhere), paths in their environment variables, data
that libraries have downloaded, the project around the working directory, and the paths given with `--allow-read`.
Folders elsewhere that stand for one in the home folder (`XDG_CACHE_HOME`) are covered like it. Within all of these,
files that usually contain credentials stay hidden. Where the working directory is the home folder itself, entries that
begin with a dot are not shown, with the same exceptions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from exploracoder_jupyter.kernels.sandbox.environment_variables import allowed_environment
from exploracoder_jupyter.kernels.sandbox.hidden_credentials import (
    ENVIRONMENT_FOLDERS,
    ENVIRONMENT_MARKERS,
    FOLDER_VARIABLES,
    MAX_FOLDERS,
    find_private_files,
    hidden_paths,
    home_folders,
    walk_private_files,
)

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
            yield from (Path(part) for part in value.split(os.pathsep) if part.startswith("/"))


def _linked_sources(needed: Iterable[Path]) -> Iterator[Path]:
    """Yield the sources of editable packages (PEP 610), which the import path may not contain."""
    for folder in needed:
        for pattern in ("*.dist-info/direct_url.json", "lib/python*/site-packages/*.dist-info/direct_url.json"):
            for record in folder.glob(pattern):
                with suppress(OSError, ValueError, AttributeError):
                    content = json.loads(record.read_text())
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
