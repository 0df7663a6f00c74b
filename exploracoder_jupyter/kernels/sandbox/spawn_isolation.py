"""How far spawned siblings are isolated from the machine, and the commands that isolate them.

Two levels. `bubblewrap`: own processes, own network or none, everything read-only except a copy of the working
directory mounted at its own path, a private `/tmp`, home folder hidden, capabilities dropped. `limits`: a filtered
environment, resource limits and a copied working directory, nothing else. `find_isolation` tests the first by running
it, and reports the level reached. Isolation limits damage; it does not promise protection against a hostile author.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernels.sandbox.views import FileView, Mount, home_folders, plan_mounts

_PROBE_SECONDS: Final = 10
_BASE: Final = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)
_WINDOWS: Final = (
    "a copied working directory only (on Windows): files and network are within reach; memory, processes and disk are "
    "watched, not limited"
)
_STRICT: Final = ("--unshare-user", "--disable-userns")
# Root, inside as outside, can write below /proc/sys, which affects the machine, whatever capabilities are dropped.
_READ_ONLY_PROC: Final = ("--proc", "/proc", "--remount-ro", "/proc")
_COVERED_PROC: Final = (
    *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
    *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
)


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
    if sys.platform == "win32":
        return Isolation(_WINDOWS)
    if not sys.platform.startswith("linux"):
        return _limits_only("bubblewrap exists only on Linux")
    program = shutil.which("bwrap")
    if program is None:
        return _limits_only("bubblewrap is not installed")
    net = () if network else ("--unshare-net",)
    problem = ""
    for proc, extra in product((_READ_ONLY_PROC, _COVERED_PROC), (_STRICT, ("--unshare-user",), ())):
        options = (program, *_BASE, *extra, *net, "--unsetenv", "JPY_PARENT_PID")
        problem = _probe_error([*options, "--ro-bind", "/", "/", "--dev", "/dev", *proc, "--", "true"])
        if not problem:
            description = (
                f"bubblewrap: {'network allowed' if network else 'no network'}, own processes, read-only files, "
                "copied working directory, home folder hidden, limits"
            )
            return Isolation(description, options, network, proc)
    return _limits_only(f"bubblewrap is refused here: {problem}")


def _probe_error(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            timeout=scale_limit(_PROBE_SECONDS),
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def _limits_only(why: str) -> Isolation:
    return Isolation(f"limits and a copied working directory only ({why}): files and network are within reach")


def _bubblewrap_options(step: Mount, view: FileView, proc: Sequence[str]) -> Sequence[str]:
    """Return the step as options of bubblewrap."""
    source, target = step.source, step.target
    shown = ("--bind", str(view.copy), target) if view.copy else ("--ro-bind-try", target, target)
    options: dict[str, Sequence[str]] = {
        "root": ("--ro-bind", "/", "/"),
        "dev": ("--dev", target),
        "device": ("--dev-bind-try", source, target),
        "proc": proc,
        "tmpfs": ("--tmpfs", target),
        "shm": ("--size", str(view.shared_memory), "--tmpfs", target),
        "layer": ("--size", str(view.shared_memory // 4), "--tmpfs", target),
        "folder": ("--dir", target),
        "temporary": ("--bind", str(view.temporary), target),
        "null": ("--ro-bind", "/dev/null", target),
        "write": ("--bind", source, target),
        "bind": ("--ro-bind-try", source, target),
        "workdir": shown,
    }
    return options[step.kind]


def counts_processes_separately() -> bool:
    """Whether Linux counts the processes of a user namespace separately from the user's others."""
    version = re.findall(r"\d+", platform.release())[:2]
    return tuple(map(int, version)) >= (5, 14)


def needed_by_interpreter(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the existing folders of an interpreter (prefixes, import path), outermost only.

    A folder that contains a home, such as the working directory on the import path, is not needed as a whole.
    """
    found = {Path(path).absolute() for path in paths if path and Path(path).exists()}
    found |= {path.resolve() for path in found}
    homes = (Path(os.path.abspath(os.sep)), *home_folders(os.environ))  # noqa: PTH100
    found = {path for path in found if not any(home.is_relative_to(path) for home in homes)}
    return tuple(sorted(path for path in found if not any(parent in found for parent in path.parents)))
