"""Builds the requests that a forked branch carries out before it runs any code; `kernel_agent.forking.kernel_fork`
reads them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

from exploracoder_jupyter.kernel_agent.confinement import namespaces
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.hidden_credentials import maskable_paths
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import (
    FileView,
    Mount,
    counts_processes_separately,
    plan_mounts,
)
from exploracoder_jupyter.kernels.sandbox.syscall_filter import SyscallFilter, compile_filter
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot
from exploracoder_jupyter.kernels.sibling_factory import font_caches

_MAX_LIVE_DESCENDANTS: Final = 8
"""Live branches that may descend from one branch: limits on processes apply to all of them together."""
_HIDDEN_SIZE: Final = "size=64k,mode=700"
_PORTS: Final = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
_STEPS: Final = {"shm": ("home", "shm"), "temporary": ("home", "tmp")}
_OWN_STEPS: Final = ("root", "workdir", "write")

ForkRequest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ForkRequestBuilder:
    """Builds the fork requests of one run."""

    launcher: Launcher
    snapshot: Snapshot
    level: SandboxLevel
    watched: bool = True
    """Whether branches report which names their cells bind, and limit their outputs."""
    filter: SyscallFilter | None = field(init=False)
    """The filter of the first generation, which all later ones inherit."""

    def __post_init__(self) -> None:
        level, network = self.level.name, self.launcher.sandbox.network
        compiled = None if level == "open" else compile_filter(level, network=network)
        object.__setattr__(self, "filter", compiled)

    def root(self, *, chdir: Path | None) -> ForkRequest:
        """Return the request for the first generation: a child of an unconfined kernel that is only forked itself."""
        home = self.launcher.folder / "r"
        order = self._base_request(first=True, serve=False, home=home, parent=None)
        confined = self.level.name != "open"
        return {
            **order,
            "chdir": None if chdir is None else str(chdir),
            "environ": self._environ(home) if confined else None,
            "output": self.launcher.sandbox.output_kb * 1000 if self.watched else None,
            "limits": {**self.launcher.limits(), "processes": None, "beyond": True} if confined else {},
            **self._view(),
        }

    def branch(self, serial: int, parent: Path) -> ForkRequest:
        """Return the request for a branch that serves as a kernel; `parent` is the home of the branch to fork."""
        home = parent / _short_name(serial)
        order = self._base_request(first=False, serve=True, home=home, parent=parent)
        return {**order, "connection": self._connection(home)}

    def home_of(self, order: ForkRequest) -> Path:
        """The folder of the branch's own files, as the branch sees it."""
        return Path(namespaces.BRANCH_HOME) if self.level.name == "namespaces" else Path(order["home"])

    def _base_request(self, *, first: bool, serve: bool, home: Path, parent: Path | None) -> ForkRequest:
        source = self.snapshot.source if parent is None else parent / "work"
        return {
            "level": self.level.name,
            "first": first,
            "serve": serve,
            "network": self.launcher.sandbox.network,
            "hidden": [str(path) for path in self._hidden],
            "shown": [str(path) for path in self.launcher.readable],
            "workdir": str(self.snapshot.source),
            "lower": str(self.snapshot.folder),
            "overlay": self.level.overlay,
            "borrowed": [str(self.snapshot.source / path) for path in self.snapshot.borrowed],
            "size": min(self.launcher.disk, self.launcher.memory // 2),
            "fonts": [str(path) for path in font_caches()],
            "chdir": None,
            "limits": {"processes": self._max_tasks},
            "home": str(home),
            "source": str(source),
            "from": str(self.snapshot.folder if parent is None else source),
            "landlock": self._landlock(home),
        }

    @property
    def _max_tasks(self) -> int | None:
        """Limit on tasks of a branch and its descendants; `None` where the user's own tasks would count too."""
        return (
            self.launcher.max_tasks * _MAX_LIVE_DESCENDANTS
            if self.level.name == "namespaces" and counts_processes_separately()
            else None
        )

    @property
    def _hidden(self) -> tuple[Path, ...]:
        files = self.launcher.files
        return () if self.level.name == "open" else (*files.covered, *files.hidden, self.launcher.folder)

    def _environ(self, home: Path) -> dict[str, str]:
        private = Path(namespaces.BRANCH_HOME) if self.level.name == "namespaces" else home
        environ = self.launcher.environ(private)
        return {**environ, "TMPDIR": "/tmp"} if self.level.name == "namespaces" else environ

    def _connection(self, home: Path) -> ForkRequest:
        folder = Path(namespaces.BRANCH_HOME) if self.level.name == "namespaces" else home
        return {"transport": "ipc", "ip": str(folder / "k" / "k"), "key": secrets.token_hex(16), **_PORTS}

    def _view(self) -> ForkRequest:
        """Return the mounts to make before and after the working directory."""
        view = FileView(
            workdir=self.snapshot.source,
            readable=(*self.launcher.readable, self.snapshot.folder),
            borrowed=tuple(self.snapshot.source / path for path in self.snapshot.borrowed),
            hidden=maskable_paths((*self.launcher.files.hidden, *self.snapshot.hidden)),
            covered=self.launcher.files.covered,
            private=self.launcher.folder,
            overlaid=True,
        )
        steps = plan_mounts(view, network=self.launcher.sandbox.network)
        middle = next(number for number, step in enumerate(steps) if step.kind == "workdir")
        borrowed = set(map(str, view.borrowed))
        after = [step for step in steps[middle:] if step.target not in borrowed]
        return {"plan": _serialize_mounts(steps[:middle]), "after": _serialize_mounts(after)}

    def _landlock(self, home: Path) -> ForkRequest:
        """Return the paths that may be read and written; of the run's folder, only the branch's own is readable."""
        if self.level.name != "landlock":
            return {}
        temporary = Path(gettempdir()).resolve()  # full of other programs' files, each of which would be listed
        hidden = (*self._hidden, *self.snapshot.hidden)
        needed = [path for folder in self.launcher.readable for path in paths_excluding(hidden, folder)]
        devices = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")]
        return {
            "readable": [
                str(path) for path in (*paths_excluding((*hidden, temporary)), *needed, self.launcher.archive)
            ],
            "writable": [str(home), *devices],
            "network": self.launcher.sandbox.network,
        }


def paths_excluding(hidden: Sequence[Path], folder: Path = Path("/")) -> list[Path]:
    """Return the fewest existing files and folders that together cover everything except what is hidden."""
    if folder in hidden:
        return []
    if not any(path.is_relative_to(folder) for path in hidden):
        return [folder]
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for entry in entries if not entry.is_symlink() for path in paths_excluding(hidden, entry)]


def _serialize_mounts(steps: Sequence[Mount]) -> list[list[str]]:
    written = []
    for step in steps:
        if step.kind in _OWN_STEPS or (step.kind, step.target) == ("tmpfs", "/run"):
            continue
        kind, source = _STEPS.get(step.kind, (step.kind, step.source))
        written.append([kind, _HIDDEN_SIZE if kind == "tmpfs" else source, step.target])
    return written


def _short_name(serial: int) -> str:
    """Encode a serial number as a short folder name: folders nest by generation, and socket paths are limited to 107
    characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # upper case: collides with none of a branch's own folders
    text = ""
    while serial:
        serial, digit = divmod(serial, len(digits))
        text = digits[digit] + text
    return text or "0"
