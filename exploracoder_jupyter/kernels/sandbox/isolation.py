"""How far a sibling is kept from the rest of the machine, and the command that does it.

Two levels. `bubblewrap`: own processes, own network or none, everything read-only but a copy of the working directory
mounted at its own path, a private `/tmp`, home folder hidden, capabilities dropped. `limits`: a scrubbed environment,
resource limits and a copied working directory, no more. `find_isolation` tries the first by really running it, and says
what was reached. It is damage control, not a promise against a hostile author.
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

from exploracoder_jupyter.core.time_limits import scale

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
# For root, inside as outside, what is below /proc/sys is the machine's and writable whatever capabilities are dropped.
_READ_ONLY_PROC: Final = ("--proc", "/proc", "--remount-ro", "/proc")
_COVERED_PROC: Final = (
    *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
    *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
)
_NETWORK_FILES: Final = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf")
_SYSTEM_IN_RUN: Final = ("/run/current-system", "/run/opengl-driver", "/run/host")


@dataclass(frozen=True, slots=True)
class View:
    """The files that one process gets to see."""

    workdir: Path
    """Where the working directory appears: its real path."""
    copy: Path | None = None
    """The folder that appears there, writable; `None`: the working directory itself, read-only."""
    temporary: Path | None = None
    """The folder that appears as `/tmp`, writable; `None` where forks bring their own."""
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """What must stay readable even below a path that is hidden or replaced."""
    borrowed: tuple[Path, ...] = ()
    """Paths within the working directory that are shown read-only, as they are outside."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that appear empty."""
    covered: tuple[Path, ...] = ()
    """Folders of which nothing appears but what is named otherwise and lies within them: the home folder."""
    private: Path | None = None
    """A folder of which nothing appears but what is named as readable or writable: siblings do not see one another."""
    shared_memory: int = 1 << 30
    """Bytes of `/dev/shm`: they are memory that no process is charged for."""
    overlaid: bool = False
    """Whether forks show a copy of the working directory there, of their own making."""

    @property
    def copied(self) -> bool:
        """Whether a copy of the working directory is shown in its place."""
        return self.overlaid or self.copy is not None


MountKind = Literal["root", "dev", "device", "proc", "tmpfs", "shm", "temporary", "bind", "workdir", "null", "write"]


@dataclass(frozen=True, slots=True)
class Mount:
    """One step in making a view: for bubblewrap an option, for a fork a system call
    (`kernel_agent.confinement.confine`)."""

    kind: MountKind
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Isolation:
    """A level, ready to be applied."""

    description: str
    """One line for people: what is kept apart, and, where little is, why."""
    bubblewrap: tuple[str, ...] = ()
    """The program and the options that were found to work; empty at the level of limits."""
    network: bool = False
    proc: tuple[str, ...] = _READ_ONLY_PROC
    """What makes a `/proc` in which nothing of the machine can be set."""

    @property
    def mounts(self) -> bool:
        """Whether paths can be replaced and hidden."""
        return bool(self.bubblewrap)

    @property
    def counts_processes(self) -> bool:
        """Whether a limit on processes counts those of this sibling alone and not all of the user's."""
        return "--unshare-user" in self.bubblewrap and counts_apart()

    def command(self, program: Iterable[str], view: View) -> list[str]:
        """The program's command line, confined to the view."""
        if not self.mounts:
            return [*program]
        steps = plan(view, network=self.network)
        mounts = [word for step in steps for word in _words(step, view, self.proc)]
        empty = [word for step in steps if step.kind == "tmpfs" for word in ("--remount-ro", step.target)]
        return [*self.bubblewrap, *mounts, *empty, "--chdir", str(view.workdir), "--", *program]


def find_isolation(*, network: bool) -> Isolation:
    """The best level that works on this machine. Runs a probe of about 30 ms; blocks."""
    program = shutil.which("bwrap") if sys.platform.startswith("linux") else None
    if program is None:
        return _limits_only("bubblewrap is not installed")
    net = () if network else ("--unshare-net",)
    problem = ""
    for proc, extra in product((_READ_ONLY_PROC, _COVERED_PROC), (_STRICT, ("--unshare-user",), ())):
        options = (program, *_BASE, *extra, *net, "--unsetenv", "JPY_PARENT_PID")
        problem = _problem_of([*options, "--ro-bind", "/", "/", "--dev", "/dev", *proc, "--", "true"])
        if not problem:
            return Isolation(_describe(network=network), options, network, proc)
    return _limits_only(f"bubblewrap is refused here: {problem}")


def _problem_of(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=scale(_PROBE_SECONDS), stdin=subprocess.DEVNULL
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


def plan(view: View, *, network: bool) -> list[Mount]:
    """The mounts that make a view, in order: what lies within something else is mounted after it, and over it."""
    steps = [Mount("root", "/", "/"), Mount("dev", "", "/dev"), *_devices(), Mount("proc", "", "/proc")]
    steps += [*_run_folder(network=network), Mount("shm", "", "/dev/shm")]
    places = _Places(view)
    return [*steps, *places.mounts(), *(Mount("write", str(path), str(path)) for path in view.writable)]


class _Places:
    """What is at which path of a view, and which of it needs a mount."""

    def __init__(self, view: View) -> None:
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
        """The steps, those of outer paths first. The copy of the working directory may come from anywhere."""
        workdir = self._view.workdir
        for path in sorted(self._kinds, key=lambda path: (path.is_relative_to(workdir), len(path.parts), path)):
            if path not in (Path("/"), Path("/run")) and self._is_needed(path):
                kind = self._kinds[path]
                yield Mount(kind, str(path) if kind == "bind" else "", str(path))

    def _is_needed(self, path: Path) -> bool:
        """Nothing has to be shown where all is shown already, nor hidden where nothing is."""
        around = next(self._kinds[parent] for parent in path.parents if parent in self._kinds)
        filled = around in ("root", "bind") or (around == "workdir" and not self._view.copied)
        match self._kinds[path]:
            case "bind":
                return not filled or path in self._view.borrowed
            case "null" | "tmpfs" if path != self._view.private:
                return filled
            case _:
                return True


def _words(step: Mount, view: View, proc: Sequence[str]) -> list[str]:
    """The step as options of bubblewrap."""
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
    """An empty `/run`: sockets in it (containers, desktop, agents) are reachable through a read-only mount as well."""
    if not Path("/run").is_dir():
        return []
    kept = [*_SYSTEM_IN_RUN, *(_NETWORK_FILES if network else ())]
    return [Mount("tmpfs", "", "/run"), *(Mount("bind", path, path) for path in kept)]


def counts_apart() -> bool:
    """Whether Linux counts the processes of a user namespace apart from the user's others."""
    return _kernel_version() >= (5, 14)


def _kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


def needed_by_interpreter(paths: Iterable[str]) -> tuple[Path, ...]:
    """The existing folders of an interpreter (prefixes, import path), outermost only."""
    found = {Path(path).absolute() for path in paths if path and Path(path).exists()}
    found |= {path.resolve() for path in found}
    return tuple(sorted(path for path in found if not any(parent in found for parent in path.parents)))
