"""Which files a fork can read and write: the mounts of its own view, or the rules of Landlock where it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.file_mounts import FileView, Mount, plan_mounts
from exploracoder_jupyter.kernels.sandbox.hidden_credentials import maskable_paths
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot

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
