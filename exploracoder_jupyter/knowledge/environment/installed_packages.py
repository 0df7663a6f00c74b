"""Lists the distributions that an interpreter can import, and the files of each, without importing any of them.

The list comes from the names of the `.dist-info` folders alone, because it is made for each search. The record of a
distribution is read only when its state changed. Conda and Debian install packages without a record, and an editable
installation records only where its code is: then the folders are listed instead.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from itertools import pairwise
from pathlib import Path, PurePosixPath

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name

_INFO = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_STUBS = re.compile(r"types[-_].+|.+[-_]stubs")
"""Distributions with nothing but the stubs of another one."""
_INTERPRETER_SECONDS = 30.0
_CODE = (".py", ".pyi")
_NOT_READ = frozenset({"__pycache__", "node_modules", "site-packages", ".git"})
_MAX_README = 2_000
_MAX_FILES = 20_000
"""Files of one distribution that are listed where it has no record."""


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """One distribution, as its folder of metadata names it."""

    name: str
    version: str
    info: Path
    """The `.dist-info` or `.egg-info` folder, or the file that stands for it."""
    stamp: str
    """Changes when the distribution was installed again; costs one look at the file system."""

    @property
    def key(self) -> str:
        """The normalized name."""
        return normalize_name(self.name)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a distribution says about itself."""

    name: str
    version: str
    summary: str = ""
    keywords: str = ""
    description: str = ""
    """The beginning of its README."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file with Python code or stubs."""

    module: tuple[str, ...]
    """Its dotted name, in parts; for an `__init__` that of the package."""
    path: Path
    is_package: bool


def import_path(python: str | None = None) -> list[str]:
    """Return the folders from which an interpreter imports installed packages; of this one without `python`.

    Another interpreter is started once, without the user's environment variables. Raises MissingRequirement if it does
    not start.
    """
    if python in (None, sys.executable):
        return _package_folders(sys.path, sysconfig.get_path("stdlib"))
    code = "import json, sys, sysconfig; print(json.dumps([sys.path, sysconfig.get_path('stdlib')]))"
    try:
        answer = subprocess.run(
            [str(python), "-I", "-c", code],
            capture_output=True,
            encoding="utf-8",
            timeout=_INTERPRETER_SECONDS,
            check=True,
        )
        folders, library = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise MissingRequirement(
            f"The interpreter {python!r} does not start.", remedy="Name a Python 3 interpreter with --python."
        ) from error
    return _package_folders(folders, library)


def _package_folders(folders: Sequence[str], library: str) -> list[str]:
    real = (str(Path(folder).absolute()) for folder in folders if folder and Path(folder).is_dir())
    return [folder for folder in dict.fromkeys(real) if folder not in (library, str(Path(library, "lib-dynload")))]


def list_packages(folders: Sequence[str]) -> list[InstalledPackage]:
    """Return the distributions in these folders, each once: the first on the path hides others of its name."""
    found: dict[str, InstalledPackage] = {}
    for folder in folders:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            match = _INFO.fullmatch(entry.name)
            if match and not _STUBS.fullmatch(match["name"]):
                info = Path(entry.path)
                package = InstalledPackage(match["name"], match["version"], info, _stamp(info))
                found.setdefault(package.key, package)
    return list(found.values())


def _stamp(info: Path) -> str:
    states = []
    for path in (info, info / "RECORD", info / "METADATA"):
        try:
            state = path.stat()
            states.append(f"{state.st_mtime_ns}:{state.st_size}")
        except OSError:
            states.append("-")
    return " ".join(states)


def record_digest(package: InstalledPackage) -> str:
    """Return a digest of what is installed: of the record, which has a hash of each file, or of the files' states."""
    if not _is_editable(package):
        try:
            return hashlib.sha256((package.info / "RECORD").read_bytes()).hexdigest()
        except OSError:
            pass
    states = hashlib.sha256()
    for file in code_files(package):
        try:
            state = file.path.stat()
        except OSError:
            continue
        states.update(f"{file.path} {state.st_mtime_ns} {state.st_size}\n".encode(errors="surrogateescape"))
    return states.hexdigest()


def changes_in_place(package: InstalledPackage) -> bool:
    """Return whether the code may change without a new installation."""
    return _is_editable(package)


def _is_editable(package: InstalledPackage) -> bool:
    try:
        origin = json.loads((package.info / "direct_url.json").read_text(encoding="utf-8"))
        return bool(origin["dir_info"]["editable"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_metadata(package: InstalledPackage) -> Metadata:
    """Return what the distribution says about itself; only name and version if that cannot be read."""
    for name in ("METADATA", "PKG-INFO", ""):
        path = package.info / name if name else package.info
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        head = HeaderParser().parsestr(text)
        body = head.get_payload()
        description = body if isinstance(body, str) and body.strip() else str(head.get("Description", ""))
        topics = " ".join(
            str(value).rpartition("::")[2] for value in head.get_all("Classifier", []) if str(value).startswith("Topic")
        )
        return Metadata(
            str(head.get("Name", package.name)),
            str(head.get("Version", package.version)),
            " ".join(str(head.get("Summary", "")).split()),
            f"{head.get('Keywords', '')} {topics}".strip(),
            description[:_MAX_README],
        )
    return Metadata(package.name, package.version)


def code_files(package: InstalledPackage) -> list[CodeFile]:
    """Return the files of a distribution with code or stubs, by its record, or by its folders if it has none."""
    root = package.info.parent
    recorded = _recorded_paths(package)
    found = list(_from_paths(root, recorded))
    if _is_editable(package):
        for folder in _editable_folders(root, recorded):
            found += _from_folder(folder, None)
    elif not recorded:
        found += _from_folder(root, _top_level_names(package))
    return found


def guide_files(package: InstalledPackage) -> list[Path]:
    """Return the guides for agents that a distribution ships: `.agents/skills/**/SKILL.md`."""
    paths = (PurePosixPath(path) for path in _recorded_paths(package) if path.endswith("/SKILL.md"))
    return [package.info.parent / path for path in paths if (".agents", "skills") in pairwise(path.parts)]


def _recorded_paths(package: InstalledPackage) -> list[str]:
    """Return the recorded paths; empty if there is no record, or it is not one."""
    try:
        with (package.info / "RECORD").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            return [row[0] for row in csv.reader(file) if row and row[0]]
    except (OSError, csv.Error, ValueError):
        return []


def _from_paths(root: Path, paths: Sequence[str]) -> Iterator[CodeFile]:
    for path in paths:
        if path.endswith(_CODE) and not path.startswith(("..", "/")):
            parts = path.split("/")
            if file := _code_file(root.joinpath(*parts), parts):
                yield file


def _code_file(path: Path, parts: Sequence[str]) -> CodeFile | None:
    stem = parts[-1].rpartition(".")[0]
    folders = [part.removesuffix("-stubs") for part in parts[:-1]]
    is_package = stem == "__init__"
    module = tuple(folders if is_package else [*folders, stem])
    is_named = bool(module) and all(part.isidentifier() for part in module)
    return CodeFile(module, path, is_package) if is_named else None


def _editable_folders(root: Path, recorded: Sequence[str]) -> Iterator[Path]:
    for name in recorded:
        if name.endswith(".pth") and "/" not in name:
            try:
                lines = (root / name).read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            yield from (path for line in lines if (path := Path(line)).is_absolute() and path.is_dir())


def _top_level_names(package: InstalledPackage) -> list[str]:
    try:
        names = (package.info / "top_level.txt").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        names = []
    return names or [package.key.replace("-", "_")]


def _from_folder(root: Path, names: Sequence[str] | None) -> Iterator[CodeFile]:
    """Yield the code of these packages and modules below a folder; without names, of all its packages."""
    if names is None:
        try:
            entries = sorted(entry.name for entry in root.iterdir())
        except OSError:
            return
        names = [name for name in entries if name.isidentifier() and (root / name / "__init__.py").is_file()]
    for name in names:
        single = root / f"{name}.py"
        if single.is_file():
            yield CodeFile((name,), single, is_package=False)
        count = 0
        for folder, folders, files in os.walk(root / name):
            folders[:] = sorted(inner for inner in folders if inner not in _NOT_READ and inner.isidentifier())
            parts = Path(folder).relative_to(root).parts
            for file in sorted(files):
                if file.endswith(_CODE) and (found := _code_file(Path(folder, file), [*parts, file])):
                    yield found
                    count += 1
            if count > _MAX_FILES:
                break
