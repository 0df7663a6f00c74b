"""How far a fork can be confined on this machine, and which files it can read and write."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final, Literal

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.views import FileView, Mount, maskable_paths, plan_mounts
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot

# Which files a fork can read and write: the mounts of its own view, or the rules of Landlock where it has none.

_HIDDEN_SIZE: Final = "size=64k,mode=700"
_LAYER: Final = "home{}"
_STEPS: Final = {"shm": ("home", "shm"), "temporary": ("home", "tmp")}
_OWN_STEPS: Final = ("root", "workdir", "write")
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def mounts_around_workdir(launcher: Launcher, snapshot: Snapshot) -> dict[str, list[list[str]]]:
    """Return the mounts to make before the working directory (`plan`) and after it (`after`)."""
    view = FileView(
        workdir=snapshot.source,
        readable=launcher.readable,
        borrowed=tuple(snapshot.source / path for path in snapshot.borrowed),
        hidden=maskable_paths((*launcher.files.hidden, *snapshot.hidden)),
        covered=launcher.files.covered,
        private=launcher.all_runs,
        overlaid=True,
    )
    steps = plan_mounts(view, network=launcher.sandbox.network)
    middle = next(number for number, step in enumerate(steps) if step.kind == "workdir")
    borrowed = set(map(str, view.borrowed))
    after = [step for step in steps[middle:] if step.target not in borrowed]
    layers = branch_layers(launcher)
    return {"plan": _serialize_mounts(steps[:middle], layers), "after": _serialize_mounts(after, layers)}


def branch_layers(launcher: Launcher) -> dict[str, str]:
    """Return the folders in which a branch can write what is gone with it, with the names of those that contain it."""
    return {str(path): _LAYER.format(number) for number, path in enumerate(launcher.files.covered)}


def home_links(launcher: Launcher) -> dict[str, str]:
    """Return what a branch can see of the user's home folder, by its path in there; outermost paths only."""
    home, shown = Path.home().resolve(), set(launcher.files.shown)
    inner = (path for path in shown if path.is_relative_to(home) and shown.isdisjoint(path.parents))
    return {str(path.relative_to(home)): str(path) for path in inner if path != home}


def landlock_rules(launcher: Launcher, snapshot: Snapshot, home: Path) -> dict[str, Any]:
    """Return the paths that may be read and written; of the run's folder, only the branch's own is readable."""
    temporary = Path(gettempdir()).resolve()  # full of other programs' files, each of which would be listed
    hidden = (*hidden_from_forks(launcher), *snapshot.hidden)
    needed = [path for folder in launcher.readable for path in paths_excluding(hidden, folder)]
    # What is in memory of others and on the machine's disks is in `/dev`, and root may read it.
    readable = (*paths_excluding((*hidden, temporary, Path("/dev"))), *needed, launcher.archive)
    return {
        "readable": [str(path) for path in readable],
        "writable": [str(home), *(f"/dev/{name}" for name in _DEVICES)],
        "network": launcher.sandbox.network,
    }


def hidden_from_forks(launcher: Launcher) -> tuple[Path, ...]:
    """Return the paths that a confined fork does not see."""
    return (*launcher.files.covered, *launcher.files.hidden, launcher.all_runs)


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


def _serialize_mounts(steps: Sequence[Mount], layers: Mapping[str, str]) -> list[list[str]]:
    written = []
    for step in steps:
        if step.kind in _OWN_STEPS or (step.kind, step.target) == ("tmpfs", "/run"):
            continue
        kind, source = _STEPS.get(step.kind, (step.kind, step.source))
        if kind == "layer":
            kind, source = "home", layers[step.target]
        written.append([kind, _HIDDEN_SIZE if kind == "tmpfs" else source, step.target])
    return written


# Finds by probing how far a fork can be confined on this machine.
#
# Three levels, from strongest to weakest: `namespaces` (own view of files, own processes, own network), `landlock`
# (a copied working directory and restricted rights), `limits` (a copied working directory, a filtered environment,
# limits). Spawned kernels are confined by bubblewrap instead: see `spawn_isolation`.

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
    if sys.platform == "win32":
        return "Run Jupyter in the Windows Subsystem for Linux (WSL 2)."
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
        return path.read_text(encoding="utf-8").strip()
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
            command,
            capture_output=True,
            encoding="utf-8",
            timeout=scale_limit(_PROBE_SECONDS),
            stdin=subprocess.DEVNULL,
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
