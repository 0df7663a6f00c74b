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
    branch_layers,
    hidden_from_forks,
    home_links,
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
PORTS: Final = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}

ForkRequest = dict[str, Any]


@dataclass(slots=True)
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
        self.filter = None if level == "open" else compile_filter(level, network=network)

    def root(self, *, chdir: Path | None) -> ForkRequest:
        """Return the request for the first generation: a child of an unconfined kernel that is only forked itself."""
        home = self.launcher.folder / "r"
        order = self._base_request(first=True, home=home, parent=None)
        confined = self.level.name != "open"
        environ = self.launcher.environ(self._seen(home))
        return {
            **order,
            "chdir": None if chdir is None else str(chdir),
            "environ": {**environ, **({"TMPDIR": "/tmp"} if self._isolated else {})} if confined else None,
            "output": self.launcher.sandbox.output_kb * 1000 if self.watched else None,
            "limits": {**self.launcher.limits(), "processes": None, "beyond": True} if confined else {},
            **mounts_around_workdir(self.launcher, self.snapshot),
        }

    def branch(self, serial: int, parent: Path) -> ForkRequest:
        """Return the request for a branch that serves as a kernel; `parent` is the home of the branch to fork."""
        home = parent / _short_name(serial)
        address = str(self._seen(home) / "k" / "k")
        connection = {"transport": "ipc", "ip": address, "key": secrets.token_hex(16), **PORTS}
        return {**self._base_request(first=False, home=home, parent=parent), "connection": connection}

    def home_of(self, order: ForkRequest) -> Path:
        """The folder of the branch's own files, as the branch sees it."""
        return self._seen(Path(order["home"]))

    @property
    def _isolated(self) -> bool:
        return self.level.name == "namespaces"

    def _seen(self, home: Path) -> Path:
        return Path(namespaces.BRANCH_HOME) if self._isolated else home

    def _base_request(self, *, first: bool, home: Path, parent: Path | None) -> ForkRequest:
        launcher, snapshot = self.launcher, self.snapshot
        source = snapshot.source if parent is None else parent / "work"
        hidden = () if self.level.name == "open" else hidden_from_forks(launcher)
        # Without namespaces, the user's own tasks would count too.
        counted = self._isolated and counts_processes_separately()
        return {
            "level": self.level.name,
            "first": first,
            "serve": not first,
            "network": launcher.sandbox.network,
            "hidden": [str(path) for path in hidden],
            "shown": [str(path) for path in launcher.readable],
            "workdir": str(snapshot.source),
            "lower": str(snapshot.folder),
            "overlay": self.level.overlay,
            "layers": branch_layers(launcher),
            "links": home_links(launcher) if self.level.name == "landlock" else {},
            "borrowed": [str(snapshot.source / path) for path in snapshot.borrowed],
            "size": min(launcher.disk, launcher.memory // 2),
            "fonts": [str(path) for path in font_caches()],
            "chdir": None,
            "limits": {"processes": launcher.max_tasks * _MAX_LIVE_DESCENDANTS if counted else None},
            "home": str(home),
            "source": str(source),
            "from": str(snapshot.folder if parent is None else source),
            "landlock": landlock_rules(launcher, snapshot, home) if self.level.name == "landlock" else {},
        }


def _short_name(serial: int) -> str:
    """Encode a serial number as a short folder name: folders nest by generation, and socket paths are limited to 107
    characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # upper case: collides with none of a branch's own folders
    text = ""
    while serial:
        serial, digit = divmod(serial, len(digits))
        text = digits[digit] + text
    return text or "0"
