"""Builds the requests that a forked branch carries out before it runs any code; `kernel_agent.forking.kernel_fork`
reads them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exploracoder_jupyter.kernel_agent.confinement import namespaces
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.fork_file_access import (
    hidden_from_forks,
    landlock_rules,
    mounts_around_workdir,
)
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import counts_processes_separately
from exploracoder_jupyter.kernels.sandbox.syscall_filter import SyscallFilter, compile_filter
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot
from exploracoder_jupyter.kernels.sibling_factory import font_caches

_MAX_LIVE_DESCENDANTS: Final = 8
"""Live branches that may descend from one branch: limits on processes apply to all of them together."""
_PORTS: Final = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}

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
            **mounts_around_workdir(self.launcher, self.snapshot),
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
            "landlock": self._landlock_rules(home),
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
        return () if self.level.name == "open" else hidden_from_forks(self.launcher)

    def _landlock_rules(self, home: Path) -> ForkRequest:
        return landlock_rules(self.launcher, self.snapshot, home) if self.level.name == "landlock" else {}

    def _environ(self, home: Path) -> dict[str, str]:
        private = Path(namespaces.BRANCH_HOME) if self.level.name == "namespaces" else home
        environ = self.launcher.environ(private)
        return {**environ, "TMPDIR": "/tmp"} if self.level.name == "namespaces" else environ

    def _connection(self, home: Path) -> ForkRequest:
        folder = Path(namespaces.BRANCH_HOME) if self.level.name == "namespaces" else home
        return {"transport": "ipc", "ip": str(folder / "k" / "k"), "key": secrets.token_hex(16), **_PORTS}


def _short_name(serial: int) -> str:
    """Encode a serial number as a short folder name: folders nest by generation, and socket paths are limited to 107
    characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # upper case: collides with none of a branch's own folders
    text = ""
    while serial:
        serial, digit = divmod(serial, len(digits))
        text = digits[digit] + text
    return text or "0"
