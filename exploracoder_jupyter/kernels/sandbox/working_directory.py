"""The working directory of siblings: one snapshot for each run, and what a sibling wrote."""

from __future__ import annotations

import os
import shutil
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.kernels.sandbox.views import ENVIRONMENT_MARKERS, find_private_files, is_private_file

# Copies the working directory: one snapshot per run, and one copy of the snapshot per sibling.
#
# The snapshot is taken at the call, so that every branch starts from the same files whatever changes later. Its
# bytes and entries are limited; small files and upper folders come first. What is not copied (large files,
# environments, `.git`) is shown read-only where mounts are possible. Elsewhere it is left out and listed, as are
# links that point out of the copy: a candidate would write through them to the user's own files.

_MAX_ENTRIES: Final = 20_000
_MAX_BORROWED: Final = 200
_MAX_LISTED: Final = 5
_BORROWED_NAMES: Final = frozenset([".git", ".hg", "node_modules", ".tox", ".nox", ".mypy_cache", ".cache"])
_LEFT_OUT: Final = frozenset(["__pycache__", ".ipynb_checkpoints"])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The working directory at one moment."""

    source: Path
    """The real working directory."""
    folder: Path
    """The copy, which is never changed."""
    borrowed: tuple[Path, ...]
    """Relative paths that were not copied and are shown read-only."""
    missing: tuple[Path, ...]
    """Relative paths that are neither copied nor shown."""
    hidden: tuple[Path, ...] = ()
    """Private files below the borrowed paths, to be hidden."""

    @property
    def note(self) -> str:
        """Which files siblings do not see, for the user; empty if there are none."""
        if not self.missing:
            return ""
        rest = len(self.missing) - _MAX_LISTED
        names = ", ".join(map(str, self.missing[:_MAX_LISTED])) + (f" and {rest} more" if rest > 0 else "")
        return f"not visible: {names}"


def copyable_workdir(workdir: Path, stack: ExitStack | AsyncExitStack) -> Path:
    """Return the real path of the working directory; for the root of the file system, which can be neither copied nor
    covered, an empty temporary folder that is removed with the stack."""
    workdir = workdir.resolve()
    return Path(stack.enter_context(TemporaryDirectory(prefix="xwork-"))) if is_root_folder(workdir) else workdir


def is_root_folder(workdir: Path) -> bool:
    """Return whether this is the root of the file system."""
    resolved = workdir.resolve()
    return resolved == resolved.parent


def take_snapshot(
    source: Path,
    folder: Path,
    *,
    most_mb: int,
    hidden: Iterable[Path] = (),
    named: Iterable[Path] = (),
    borrow: bool = True,
) -> Snapshot:
    """Copy the working directory into the new folder, except special files, credentials and unreadable files.

    `named`: files that are copied even if they contain credentials. `borrow`: whether files that are not copied can be
    shown read-only.
    """
    folder.mkdir(parents=True)
    bytes_left, entries_left = most_mb * 1_000_000, _MAX_ENTRIES
    unwanted, wanted = frozenset(hidden), frozenset(named)
    missing: list[Path] = []
    not_copied: list[Path] = []
    waiting = deque([Path()])  # upper folders are copied before deeper ones
    while waiting:
        parent = waiting.popleft()
        try:
            entries = [entry for entry in os.scandir(source / parent) if _is_wanted(entry, unwanted, wanted)]
        except OSError:
            missing.append(parent)
            continue
        environment = parent.name in _BORROWED_NAMES or any(entry.name in ENVIRONMENT_MARKERS for entry in entries)
        if parent != Path() and (len(entries) > entries_left or environment):
            not_copied.append(parent)
            continue
        entries_left -= len(entries)
        (folder / parent).mkdir(exist_ok=True)
        waiting.extend(parent / entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for entry in sorted(files, key=lambda entry: entry.stat(follow_symlinks=False).st_size):
            size = entry.stat(follow_symlinks=False).st_size
            try:
                leads_out = not borrow and entry.is_symlink() and Path(entry.path).readlink().is_absolute()
                if size > bytes_left or leads_out:
                    not_copied.append(parent / entry.name)
                    continue
                shutil.copy2(entry.path, folder / parent / entry.name, follow_symlinks=False)
                bytes_left -= size
            except OSError:
                missing.append(parent / entry.name)
    shown = _MAX_BORROWED if borrow else 0
    borrowed, missing = not_copied[:shown], [*missing, *not_copied[shown:]]
    private = (path for path in find_private_files(source / path for path in borrowed) if path not in wanted)
    return Snapshot(source, folder, tuple(borrowed), tuple(missing), tuple(private))


def _is_wanted(entry: os.DirEntry[str], hidden: Collection[Path], named: Collection[Path]) -> bool:
    kind, path = entry.stat(follow_symlinks=False).st_mode, Path(entry.path)
    copyable = stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
    if not copyable or path in hidden or entry.name in _LEFT_OUT:
        return False
    return stat.S_ISDIR(kind) or path in named or not is_private_file(entry)


# Copies the files that a sibling wrote out of its working directory: those that are new or differ from the
# snapshot.
#
# The sibling may still be running and may be malicious: each file is opened folder by folder through no link, so that
# nothing outside the copy is read. Skips everything that is not a regular file, has a name that is not
# valid UTF-8, or exceeds the limits; small files are copied first.

_MAX_FILES: Final = 1000
_CHUNK_BYTES: Final = 1 << 20
_CACHES: Final = frozenset(["__pycache__", ".ipynb_checkpoints", ".pytest_cache"])


class _WrittenFile(NamedTuple):
    """A regular file in the sibling's working directory, its path relative to that."""

    size: int
    path: Path
    changed: int


def copy_written(work: Path, snapshot: Snapshot, folder: Path, *, most_mb: int) -> tuple[str, ...]:
    """Copy the files of `work` that differ from the snapshot into the folder, which is created if there are any; return
    their relative paths, sorted. Raises OSError: the folder cannot be written."""
    found = [file for file in _files(work, set(snapshot.borrowed)) if _differs(work, file, snapshot.folder)]
    bytes_left, copied = most_mb * 1_000_000, []
    for file in sorted(found)[:_MAX_FILES]:
        copied_bytes = _copy(work, file.path, folder / file.path, bytes_left)
        if copied_bytes is not None:
            bytes_left -= copied_bytes
            copied.append(file.path.as_posix())
    return tuple(sorted(copied))


def _files(work: Path, borrowed: Collection[Path]) -> Iterator[_WrittenFile]:
    for parent, folders, names in os.walk(work):
        relative = Path(parent).relative_to(work)
        folders[:] = [name for name in folders if name not in _CACHES and relative / name not in borrowed]
        for name in names:
            path = relative / name
            try:
                path.as_posix().encode()
                state = (work / path).lstat()
            except (OSError, UnicodeEncodeError):
                continue
            if stat.S_ISREG(state.st_mode) and path not in borrowed:
                yield _WrittenFile(state.st_size, path, state.st_mtime_ns)


def _differs(work: Path, file: _WrittenFile, snapshot: Path) -> bool:
    """Whether the file is missing from the snapshot, which only this process writes, or has different content."""
    try:
        before = (snapshot / file.path).lstat()
    except OSError:
        return True
    if not stat.S_ISREG(before.st_mode) or before.st_size != file.size:
        return True
    return before.st_mtime_ns != file.changed and _content(work, file.path) != (snapshot / file.path).read_bytes()


def _content(work: Path, path: Path) -> bytes | None:
    try:
        with os.fdopen(system.open_below(work, path), "rb") as source:
            return source.read()
    except OSError:
        return None


def _copy(work: Path, path: Path, target: Path, bytes_left: int) -> int | None:
    """Copy one file and return its bytes; `None` if it cannot be read or exceeds the remaining space."""
    try:
        source = os.fdopen(system.open_below(work, path), "rb")
    except OSError:
        return None
    with source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            return None
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as copy:
            copied_bytes = 0
            while copied_bytes <= bytes_left and (
                chunk := source.read(min(_CHUNK_BYTES, bytes_left - copied_bytes + 1))
            ):
                copied_bytes += copy.write(chunk)
    if copied_bytes > bytes_left:
        target.unlink()
        return None
    return copied_bytes
