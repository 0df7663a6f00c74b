"""The Python, Markdown and notebook files below a folder, read within limits.

Nothing is followed: no link, so nothing outside the folder is ever read, and no file that is not a regular one. Left
out are hidden names, environments, what `.gitignore` names, traces of explorations, and files whose names speak of
credentials.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exploracoder_jupyter.knowledge.sources.credential_removal import is_named_secret
from exploracoder_jupyter.knowledge.sources.gitignore import Rule, is_ignored, rules

KINDS = frozenset({".py", ".md", ".ipynb"})
_NEVER = frozenset({"explorations", "site-packages", "node_modules", "build", "dist"})
_MARKS_OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", "conda-meta"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read, at most."""

    files: int = 400
    folders: int = 400
    entries: int = 20_000
    """Names that are looked at."""
    file_bytes: int = 400_000
    notebook_bytes: int = 8_000_000
    """Of one notebook: outputs make most of it, and they are not used."""
    bytes: int = 32_000_000
    """Of all files."""
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """A file that was read."""

    path: str
    """Relative to the folder."""
    text: str


@dataclass(slots=True)
class _Left:
    """What may still be read."""

    limits: Limits
    files: int = 0
    entries: int = 0
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def none(self) -> bool:
        most = self.limits
        is_late = time.monotonic() - self.began > most.seconds
        return self.files >= most.files or self.bytes >= most.bytes or is_late


def below(folder: Path, limits: Limits) -> Iterator[Text]:
    """The files of the folder, then of those in it, by name, until a limit is reached."""
    left = _Left(limits)
    for path in _paths(folder, left):
        text = read(folder / path, limits)
        if text is not None:
            left.files += 1
            left.bytes += len(text)
            yield Text(path, text)
        if left.none:
            return


def read(path: Path, limits: Limits) -> str | None:
    """The text of a regular file that is no link and not too large."""
    most = limits.notebook_bytes if path.suffix == ".ipynb" else limits.file_bytes
    try:
        # Without waiting: a named pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        try:
            return file.read(most).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def _paths(folder: Path, left: _Left) -> Iterator[str]:
    waiting: deque[tuple[str, tuple[Rule, ...]]] = deque([("", ())])
    for _ in range(left.limits.folders):
        if not waiting or left.none or left.entries >= left.limits.entries:
            return
        at, known = waiting.popleft()
        entries = _entries(folder / at, left)
        names = {entry.name for entry in entries}
        if at and names & _MARKS_OF_ENVIRONMENTS:
            continue
        if ".gitignore" in names:
            known = (*known, *rules(read(folder / at / ".gitignore", left.limits) or "", at))
        for entry in entries:
            path, is_folder = at + entry.name, entry.is_dir(follow_symlinks=False)
            if _is_left_out(entry, path, is_folder, known):
                continue
            if is_folder:
                waiting.append((f"{path}/", known))
            elif Path(entry.name).suffix in KINDS:
                yield path


def _entries(folder: Path, left: _Left) -> list[os.DirEntry[str]]:
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry)
                left.entries += 1
                if left.entries >= left.limits.entries:
                    break
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def _is_left_out(entry: os.DirEntry[str], path: str, is_folder: bool, known: tuple[Rule, ...]) -> bool:
    name = entry.name
    if name.startswith((".", "__")) or name in _NEVER or entry.is_symlink() or is_named_secret(Path(name).stem):
        return True
    return is_ignored(path, is_folder=is_folder, rules=known)
