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
