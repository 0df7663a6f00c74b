"""The files that a sibling can see, and the mounts that make this view.

Spawned siblings mount it with bubblewrap (`spawn_isolation`), forks with system calls (`fork_file_access`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

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
    """Folders that appear empty except for paths listed in the other fields: the home folder."""
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


MountKind = Literal["root", "dev", "device", "proc", "tmpfs", "shm", "temporary", "bind", "workdir", "null", "write"]


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
        *_MountPlanner(view).mounts(),
        *(Mount("write", str(path), str(path)) for path in view.writable),
    ]


class _MountPlanner:
    """The content at each path of a view, and which paths need a mount."""

    def __init__(self, view: FileView) -> None:
        self._view = view
        temporary = [path for path in map(Path, _TEMPORARY) if path.is_dir() and not path.is_symlink()]
        self._kinds: dict[Path, MountKind] = {Path("/"): "root", Path("/run"): "tmpfs"}
        self._kinds |= dict.fromkeys(view.covered, "tmpfs")
        self._kinds |= dict.fromkeys((*view.readable, *view.borrowed), "bind")
        self._kinds |= {path: "tmpfs" if path.is_dir() else "null" for path in view.hidden}
        self._kinds |= dict.fromkeys(temporary, "temporary")
        self._kinds[view.workdir] = "workdir"
        if view.private is not None:
            self._kinds[view.private] = "tmpfs"

    def mounts(self) -> Iterator[Mount]:
        """Yield the mounts, outer paths first, the working directory last: its copy may come from anywhere."""
        workdir = self._view.workdir
        for path in sorted(self._kinds, key=lambda path: (path.is_relative_to(workdir), len(path.parts), path)):
            if path not in (Path("/"), Path("/run")) and self._is_needed(path):
                kind = self._kinds[path]
                yield Mount(kind, str(path) if kind == "bind" else "", str(path))

    def _is_needed(self, path: Path) -> bool:
        """Whether a mount is needed: not to show a path in a visible folder, nor to hide one in an empty folder."""
        around = next(self._kinds[parent] for parent in path.parents if parent in self._kinds)
        filled = around in ("root", "bind") or (around == "workdir" and not self._view.copied)
        match self._kinds[path]:
            case "bind":
                return not filled or path in self._view.borrowed
            case "null" | "tmpfs" if path != self._view.private:
                return filled
            case _:
                return True


def _run_folder(*, network: bool) -> list[Mount]:
    """Return mounts for an empty `/run`: its sockets (containers, desktop, agents) work even if mounted read-only."""
    if not Path("/run").is_dir():
        return []
    kept = [*_SYSTEM_IN_RUN, *(_NETWORK_FILES if network else ())]
    return [Mount("tmpfs", "", "/run"), *(Mount("bind", path, path) for path in kept)]
