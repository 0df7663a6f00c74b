"""Finds by probing how far a fork can be confined on this machine.

Three levels, from strongest to weakest: `namespaces` (own view of files, own processes, own network), `landlock` (a
copied working directory and restricted rights), `limits` (a copied working directory, a filtered environment, limits).
Spawned kernels are confined by bubblewrap instead: see `spawn_isolation`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit

LevelName = Literal["namespaces", "landlock", "limits", "open"]
"""`open` is never detected, only requested: the fork has all rights of the kernel that it is forked from."""

_PROBE_SECONDS: Final = 20
_USEFUL_LANDLOCK: Final = 3
"""First version of Landlock's interface that can also forbid truncation."""
_SCOPED_LANDLOCK: Final = 6
_FILTERED: Final = re.compile(r"^Seccomp:\s+2$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SandboxLevel:
    """A confinement level, as detected."""

    name: LevelName
    overlay: bool = False
    """Whether the working directory can be overlaid; otherwise each branch copies it."""
    why: str = ""
    """Why no stronger level is available."""
    scoped: bool = False
    """For Landlock only: whether signals to other processes, and abstract UNIX sockets, can be forbidden."""

    def describe(self, *, network: bool) -> str:
        """Describe the level in one line for the user."""
        net = "network allowed" if network else "no network"
        match self.name:
            case "namespaces":
                files = "overlaid" if self.overlay else "copied"
                return (
                    f"namespaces: {net}, own processes, read-only files, {files} working directory, "
                    "home folder hidden, limits"
                )
            case "landlock":
                tcp = net if network else "no TCP"
                signals = "" if self.scoped else ", other processes can be signalled, abstract UNIX sockets reached"
                return (
                    f"landlock: {tcp}, read-only files, copied working directory, home folder hidden, limits{signals} "
                    f"({self.why})"
                )
            case "open":
                return "not confined: the same files, network and rights"
            case "limits":
                return f"limits and a copied working directory only ({self.why}): files and network are within reach"


def remedy_for_isolation(proc: Path = Path("/proc")) -> str:
    """Return what gives full isolation on this machine, as a sentence, judged by what refuses namespaces.

    `proc` is where the system describes itself. What is installed in vain where nothing may make namespaces, such as
    bubblewrap in most containers, is not named.
    """
    if not sys.platform.startswith("linux"):
        return "Run Jupyter in a container or a virtual machine with Linux."
    refusing = {
        "kernel/apparmor_restrict_unprivileged_userns": "1",
        "kernel/unprivileged_userns_clone": "0",
        "user/max_user_namespaces": "0",
    }
    for name, value in refusing.items():
        if _read_setting(proc / "sys" / name) == value:
            allowing = {"1": "0", "0": "1"}[value] if name.startswith("kernel/") else "1000"
            setting = name.replace("/", ".")
            return f"Ask the administrator of this machine to allow user namespaces: sysctl -w {setting}={allowing}."
    if _FILTERED.search(_read_setting(proc / "self" / "status")):
        return "Whoever starts this container can let it create user namespaces; nothing inside it can."
    return "Install bubblewrap (Debian: apt-get install bubblewrap)."


def _read_setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def find_level(archive: Path) -> SandboxLevel:
    """Return the best level that works here. Runs a probe of about 50 ms from the zip of `kernel_agent`; blocks. Raises
    KernelError: the probe did not end in time. A busy machine must not weaken the isolation."""
    if not sys.platform.startswith("linux"):
        return SandboxLevel("limits", why="namespaces exist only on Linux")
    command = [sys.executable, str(archive), "{}", "confinement.sandbox_probe"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=scale_limit(_PROBE_SECONDS), stdin=subprocess.DEVNULL
        )
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise KernelError(
            f"How far experiments can be isolated here could not be tested within {error.timeout:.0f} s.",
            remedy="Try again when the machine is less busy.",
        ) from None
    except (OSError, ValueError) as error:
        return SandboxLevel("limits", why=f"stronger levels could not be tested: {error}")
    if not found["namespaces"]:
        return SandboxLevel("namespaces", overlay=found["overlay"])
    why = f"namespaces are refused here: {found['namespaces']}"
    if found["landlock"] >= _USEFUL_LANDLOCK:
        return SandboxLevel("landlock", why=why, scoped=found["landlock"] >= _SCOPED_LANDLOCK)
    return SandboxLevel("limits", why=why)
