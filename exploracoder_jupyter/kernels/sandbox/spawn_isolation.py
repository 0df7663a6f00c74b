"""How far spawned siblings are isolated from the machine, and the commands that isolate them.

Two levels. `bubblewrap`: own processes, own network or none, everything read-only except a copy of the working
directory mounted at its own path, a private `/tmp`, home folder hidden, capabilities dropped. `limits`: a filtered
environment, resource limits and a copied working directory, nothing else. `find_isolation` tests the first by running
it, and reports the level reached. Isolation limits damage; it does not promise protection against a hostile author.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, Literal

from exploracoder_jupyter.core.time_limits import scale_limit

_PROBE_SECONDS: Final = 10
_TEMPORARY: Final = ("/tmp", "/var/tmp")
_DEVICES: Final = ("/dev/nvidia*", "/dev/kfd", "/dev/dri", "/dev/dxg")
_BASE: Final = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)
_STRICT: Final = ("--unshare-user", "--disable-userns")
# Root, inside as outside, can write below /proc/sys, which affects the machine, whatever capabilities are dropped.
_READ_ONLY_PROC: Final = ("--proc", "/proc", "--remount-ro", "/proc")
_COVERED_PROC: Final = (
    *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
    *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
)
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


@dataclass(frozen=True, slots=True)
class Isolation:
    """An isolation level, ready to be applied."""

    description: str
    """One line for the user: what is isolated, and why if that is little."""
    bubblewrap: tuple[str, ...] = ()
    """The program and the options that work on this machine; empty at the level of limits."""
    network: bool = False
    proc: tuple[str, ...] = _READ_ONLY_PROC
    """Options for a `/proc` through which no setting of the machine can be changed."""

    @property
    def mounts(self) -> bool:
        """Whether paths can be replaced and hidden."""
        return bool(self.bubblewrap)

    @property
    def counts_processes(self) -> bool:
        """Whether a limit on processes counts only those of this sibling, not all processes of the user."""
        return "--unshare-user" in self.bubblewrap and counts_processes_separately()

    def command(self, program: Iterable[str], view: FileView) -> list[str]:
        """Return the program's command line, confined to the view."""
        if not self.mounts:
            return [*program]
        steps = plan_mounts(view, network=self.network)
        mounts = [word for step in steps for word in _bubblewrap_options(step, view, self.proc)]
        empty = [word for step in steps if step.kind == "tmpfs" for word in ("--remount-ro", step.target)]
        return [*self.bubblewrap, *mounts, *empty, "--chdir", str(view.workdir), "--", *program]


def find_isolation(*, network: bool) -> Isolation:
    """Return the best level that works on this machine. Runs a probe that takes about 30 ms; blocks."""
    program = shutil.which("bwrap") if sys.platform.startswith("linux") else None
    if program is None:
        return _limits_only("bubblewrap is not installed")
    net = () if network else ("--unshare-net",)
    problem = ""
    for proc, extra in product((_READ_ONLY_PROC, _COVERED_PROC), (_STRICT, ("--unshare-user",), ())):
        options = (program, *_BASE, *extra, *net, "--unsetenv", "JPY_PARENT_PID")
        problem = _probe_error([*options, "--ro-bind", "/", "/", "--dev", "/dev", *proc, "--", "true"])
        if not problem:
            return Isolation(_describe(network=network), options, network, proc)
    return _limits_only(f"bubblewrap is refused here: {problem}")


def _probe_error(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=scale_limit(_PROBE_SECONDS), stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def _describe(*, network: bool) -> str:
    net = "network allowed" if network else "no network"
    return f"bubblewrap: {net}, own processes, read-only files, copied working directory, home folder hidden, limits"


def _limits_only(why: str) -> Isolation:
    return Isolation(f"limits and a copied working directory only ({why}): files and network are within reach")


def plan_mounts(view: FileView, *, network: bool) -> list[Mount]:
    """Return the mounts that make a view, in order: inner paths are mounted after, and over, outer ones."""
    steps = [Mount("root", "/", "/"), Mount("dev", "", "/dev"), *_devices(), Mount("proc", "", "/proc")]
    steps += [*_run_folder(network=network), Mount("shm", "", "/dev/shm")]
    places = _MountPlanner(view)
    return [*steps, *places.mounts(), *(Mount("write", str(path), str(path)) for path in view.writable)]


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


def _bubblewrap_options(step: Mount, view: FileView, proc: Sequence[str]) -> list[str]:
    """Return the step as options of bubblewrap."""
    source, target = step.source, step.target
    match step.kind:
        case "root":
            return ["--ro-bind", "/", "/"]
        case "dev":
            return ["--dev", target]
        case "device":
            return ["--dev-bind-try", source, target]
        case "proc":
            return [*proc]
        case "tmpfs":
            return ["--tmpfs", target]
        case "shm":
            return ["--size", str(view.shared_memory), "--tmpfs", target]
        case "temporary":
            return ["--bind", str(view.temporary), target]
        case "null":
            return ["--ro-bind", "/dev/null", target]
        case "write":
            return ["--bind", source, target]
        case "bind":
            return ["--ro-bind-try", source, target]
        case "workdir":
            return ["--bind", str(view.copy), target] if view.copy else ["--ro-bind-try", target, target]


def _devices() -> list[Mount]:
    found = [path for pattern in _DEVICES for path in Path("/dev").glob(pattern.removeprefix("/dev/"))]
    return [Mount("device", str(path), str(path)) for path in found]


def _run_folder(*, network: bool) -> list[Mount]:
    """Return mounts for an empty `/run`: its sockets (containers, desktop, agents) work even if mounted read-only."""
    if not Path("/run").is_dir():
        return []
    kept = [*_SYSTEM_IN_RUN, *(_NETWORK_FILES if network else ())]
    return [Mount("tmpfs", "", "/run"), *(Mount("bind", path, path) for path in kept)]


def counts_processes_separately() -> bool:
    """Whether Linux counts the processes of a user namespace separately from the user's others."""
    return _kernel_version() >= (5, 14)


def _kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


def needed_by_interpreter(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the existing folders of an interpreter (prefixes, import path), outermost only."""
    found = {Path(path).absolute() for path in paths if path and Path(path).exists()}
    found |= {path.resolve() for path in found}
    return tuple(sorted(path for path in found if not any(parent in found for parent in path.parents)))
