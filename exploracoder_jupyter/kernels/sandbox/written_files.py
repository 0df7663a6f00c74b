"""Copies the files that a sibling wrote out of its working directory: those that are new or differ from the snapshot.

The sibling may still be running and may be malicious: folders are walked by descriptor and no link is followed, so that
nothing outside the copy is read. Skips everything that is not a regular file, has a name that is not valid UTF-8, or
exceeds the limits; small files are copied first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot

_MAX_FILES: Final = 1000
_CHUNK_BYTES: Final = 1 << 20
_CACHES: Final = frozenset(["__pycache__", ".ipynb_checkpoints", ".pytest_cache"])
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


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
    for parent, folders, names, handle in os.fwalk(work, follow_symlinks=False):
        relative = Path(parent).relative_to(work)
        folders[:] = [name for name in folders if name not in _CACHES and relative / name not in borrowed]
        for name in names:
            path = relative / name
            try:
                path.as_posix().encode()
                state = os.stat(name, dir_fd=handle, follow_symlinks=False)
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
        with os.fdopen(_open(work, path), "rb") as source:
            return source.read()
    except OSError:
        return None


def _copy(work: Path, path: Path, target: Path, bytes_left: int) -> int | None:
    """Copy one file and return its bytes; `None` if it cannot be read or exceeds the remaining space."""
    try:
        source = os.fdopen(_open(work, path), "rb")
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


def _open(work: Path, path: Path) -> int:
    """Open a file below `work`, folder by folder, without following links."""
    handle = os.open(work, _OPEN | os.O_DIRECTORY)
    try:
        for part in path.parts[:-1]:
            inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        return os.open(path.name, _OPEN, dir_fd=handle)
    finally:
        os.close(handle)
