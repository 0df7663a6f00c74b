"""Gives a freshly forked process its own view of the machine, permanently.

Generation 1 is a child of an unconfined kernel: everything becomes read-only, and paths that the plan hides are hidden.
Every generation, including later descendants, gets its own files, processes and network. A private tmpfs, the *home*,
contains everything that a branch can write: the upper layer of an overlay at the working directory, `/tmp`, shared
memory, sockets, what libraries write into the user's home folder. It starts as a copy of the parent's home, so that
files follow the branch tree, and vanishes with the process.

Folders and files of the user are shown through an overlay without an upper layer, where the file system allows one: a
lock, a socket or a named pipe in it is not the user's, even one that is made later.

What all generations share (the empty folders over hidden paths, `/run`, `/dev`) is writable for none of them, as
siblings could otherwise see what others wrote.

None of this can be undone from within: mounts made before a user namespace was entered are locked in it, and each
generation enters a new one and then gives up its capabilities. Tested with 32 generations, the nesting limit of user
namespaces. Needs Linux 5.12; `sandbox_probe` finds out whether it works.

A process that enters a user namespace must write its user map into a writable `/proc`. If the view contained one, the
operating system would let any process with a user namespace mount more, with all of `/proc/sys`. So the first
generation creates one that is mounted nowhere, and the engine passes its descriptor to each fork while the fork
needs it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import socket
import struct
from collections.abc import Collection
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import linux_calls
from exploracoder_jupyter.kernel_agent.confinement.file_copies import copy_tree

BRANCH_HOME = "/run/explora"
"""Path of a branch's own files. The path beside it is used while the next home is being set up."""
_NEXT_HOME = f"{BRANCH_HOME}.next"
_SNAPSHOT = f"{BRANCH_HOME}.files"
"""Path of the snapshot of the working directory. The path that it was taken to may lie in the working directory, where
each generation covers it, and where a branch could replace it."""
_SOURCE, _STACKED, _NOTHING = (f"{BRANCH_HOME}.{name}" for name in ("source", "stacked", "nothing"))
"""Paths where an overlay of one of the user's folders is set up."""
PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders that are private to each branch and start as a copy of its parent's."""
_HOME_FOLDERS = ("up", "over", "work", "tmp", "shm", "ipython", "matplotlib", "k")
_NOT_COPIED = ("k", "over")
_NAMESPACES = (
    linux_calls.CLONE_NEWUSER
    | linux_calls.CLONE_NEWNS
    | linux_calls.CLONE_NEWPID
    | linux_calls.CLONE_NEWIPC
    | linux_calls.CLONE_NEWUTS
)
_MOUNT_FLAGS = linux_calls.MS_NOSUID | linux_calls.MS_NODEV
_PROC_FLAGS = _MOUNT_FLAGS | linux_calls.MS_NOEXEC
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_MASK = "/dev/null"
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41


class _MountStep:
    """One mount of the plan, `[kind, source, target]`; see `kernels.sandbox.views.Mount`."""

    def __init__(self, kind: str, source: str, target: str) -> None:
        self.kind, self.source, self.target = kind, source, target
        shown = kind in ("bind", "device") and os.path.exists(source)
        self.tree = linux_calls.clone_tree(_MASK if kind == "null" else source) if shown or kind == "null" else None
        """A clone of the mount to show, from before anything is mounted over it."""
        named = _DEVICES if kind == "dev" else ()
        self.devices = {name: linux_calls.clone_tree(path) for name in named if os.path.exists(path := f"/dev/{name}")}
        """Clones of the devices that every program needs."""


def enter_namespaces(*, network: bool, proc: int | None = None, permit: int | None = None) -> None:
    """Leave the parent's namespaces; the next child starts a new process namespace. Needs a process with one thread.

    `proc` is what `build_view` returned in the first generation, `permit` a file with the words that the parent's
    system call filter requires; the first generation needs neither.
    """
    uid, gid = os.getuid(), os.getgid()
    linux_calls.unshare(_NAMESPACES | (0 if network else linux_calls.CLONE_NEWNET), permit)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        path = f"/proc/self/{name}" if proc is None else f"self/{name}"
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def build_view(order: dict[str, Any]) -> int | None:
    """Mount this generation's view. Called by the first process of the new process namespace after the reaper.

    In the first generation, returns a descriptor of a `/proc` that is mounted nowhere, for `enter_namespaces`.

    Keys of the order: `first`, `size` (bytes of home), `workdir`, `borrowed` (paths in the working directory that are
    shown as they are), `overlay` (otherwise the working directory is a copy), `layers` (folders of the user that are
    empty and writable, with the names of their content in the home), `network`; in the first generation also
    `lower` (the snapshot), `plan` and `after` (the steps before and after the working directory is shown), and `fonts`.
    """
    if not order["network"]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # enables the loopback
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
    borrowed = [_MountStep("bind", path, path) for path in order["borrowed"]]
    proc, remaining = None, []
    if order["first"]:  # in this `/proc`, a process sees itself and nothing of the machine
        proc = linux_calls.detached_mount("proc", _PROC_FLAGS, {"subset": "pid", "hidepid": "ptraceable"})
        remaining = _cover_machine(order, borrowed)
    else:
        _renew_home(order)
    workdir = _ensure_exists(order["workdir"])
    if order["overlay"]:
        layers = f"lowerdir={_SNAPSHOT},upperdir={BRANCH_HOME}/up,workdir={BRANCH_HOME}/over,userxattr"
        linux_calls.mount("overlay", workdir, "overlay", _MOUNT_FLAGS, layers)
    else:
        linux_calls.attach(linux_calls.clone_tree(f"{BRANCH_HOME}/work"), workdir)
    for step in (*borrowed, *remaining):
        _mount_step(step)
    if order["first"]:  # except the home: no generation may write what later ones inherit
        home = os.stat(BRANCH_HOME).st_dev
        mounted = [target for kind, _, target in (*order["plan"], *order["after"]) if kind in ("tmpfs", "dev")]
        for mount_point in dict.fromkeys(["/run", *mounted]):
            if os.stat(mount_point).st_dev != home:
                linux_calls.make_read_only(mount_point, recursive=False)
    return proc


def give_up_privileges() -> None:
    """Drop all capabilities, except CAP_SETFCAP for root.

    Only root with CAP_SETFCAP can create a user namespace that maps root (Linux 5.12).
    """
    linux_calls.drop_capabilities(keep=1 << linux_calls.CAP_SETFCAP if os.getuid() == 0 else 0)


def _cover_machine(order: dict[str, Any], borrowed: list[_MountStep]) -> list[_MountStep]:
    """Cover the whole machine; return the steps to carry out after the working directory and the borrowed paths are
    shown."""
    # Forbidden in this user namespace and below: they would allow mounting the file system of control groups, which is
    # writable for its owner.
    with (
        contextlib.suppress(FileNotFoundError),
        open("/proc/sys/user/max_cgroup_namespaces", "w", encoding="ascii") as file,
    ):
        file.write("0")
    linux_calls.mount("", "/", flags=linux_calls.MS_REC | linux_calls.MS_PRIVATE)
    plan, after = ([_MountStep(*step) for step in order[name]] for name in ("plan", "after"))
    snapshot = linux_calls.clone_tree(order["lower"])
    linux_calls.make_read_only("/")
    linux_calls.mount("tmpfs", "/run", "tmpfs", _MOUNT_FLAGS, "size=1m,mode=755")
    for folder in (BRANCH_HOME, _NEXT_HOME, _SNAPSHOT, _SOURCE, _STACKED, _NOTHING):
        os.mkdir(folder, 0o700)
    for step in (*borrowed, *plan, *after):
        if step.kind == "bind" and step.tree is not None and not step.source.startswith("/run/"):
            step.tree = _through_overlay(step.source, step.tree)
    linux_calls.make_read_only(snapshot)
    linux_calls.attach(snapshot, _SNAPSHOT)
    _mount_home(BRANCH_HOME, order["size"])
    for folder in (*_HOME_FOLDERS, *order["layers"].values()):
        os.mkdir(f"{BRANCH_HOME}/{folder}", 0o700)
    for fonts in order["fonts"]:
        shutil.copy(fonts, f"{BRANCH_HOME}/matplotlib")
    if not order["overlay"]:
        copy_tree(_SNAPSHOT, f"{BRANCH_HOME}/work")
    for step in plan:
        _mount_step(step)
    return after


def _through_overlay(path: str, tree: int) -> int:
    """Return a tree that shows the same as `tree`, the path's own, through an overlay; `tree` if that is impossible.

    An overlay does not show mounts within a folder, and not every file system can be in one.
    """
    folder, name = (path, "") if os.path.isdir(path) else os.path.split(path)
    try:
        linux_calls.attach(linux_calls.clone_tree(folder), _SOURCE)
        try:
            if any(point.startswith(f"{_SOURCE}/") for _, _, point in _read_mounts()):
                return tree
            layers = f"lowerdir={_SOURCE}:{_NOTHING}"
            linux_calls.mount("overlay", _STACKED, "overlay", _MOUNT_FLAGS | linux_calls.MS_RDONLY, layers)
            try:
                stacked = linux_calls.clone_tree(os.path.join(_STACKED, name))
            finally:
                linux_calls.unmount(_STACKED)
        finally:
            linux_calls.unmount(_SOURCE)
    except OSError:
        return tree
    os.close(tree)
    return stacked


def _renew_home(order: dict[str, Any]) -> None:
    """Replace what is the parent's: its home, and the processes that it sees."""
    _mount_home(_NEXT_HOME, order["size"])
    copy_tree(BRANCH_HOME, _NEXT_HOME, exclude=_NOT_COPIED)
    for name in _NOT_COPIED:
        os.mkdir(f"{_NEXT_HOME}/{name}", 0o700)
    linux_calls.mount(_NEXT_HOME, BRANCH_HOME, flags=linux_calls.MS_MOVE)
    linux_calls.mount("proc", "/proc", "proc", _PROC_FLAGS | linux_calls.MS_RDONLY)
    if os.path.isdir("/dev/pts"):
        _mount_terminals("/dev/pts")
    private = _private_folders(order["layers"])
    shown = [(path, linux_calls.clone_tree(path)) for path in _mounts_within(private, workdir=order["workdir"])]
    for folder, name in private.items():
        linux_calls.attach(linux_calls.clone_tree(f"{BRANCH_HOME}/{name}"), folder)
    for path, tree in shown:
        linux_calls.attach(tree, _ensure_exists(path, like=tree))


def _private_folders(layers: dict[str, str]) -> dict[str, str]:
    """Return the folders that each branch has of its own, with the names of their content in its home."""
    usual = dict(zip(PRIVATE_FOLDERS, ("tmp", "tmp", "shm"), strict=True))
    mounted = {point for _, _, point in _read_mounts()}  # a layer in another private folder is not a mount
    return {
        **{folder: name for folder, name in usual.items() if os.path.isdir(folder)},
        **{folder: name for folder, name in layers.items() if folder in mounted},
    }


def _mounts_within(private_folders: Collection[str], *, workdir: str) -> list[str]:
    """Return the mounts within the private folders (such as environments) except the working directory.

    Where a private folder is the working directory or lies in it, the new working directory covers its mounts, and the
    paths of those that earlier generations have covered name what the parent put there instead.
    """
    mounts = _read_mounts()
    topmost = {point: number for number, _, point in mounts}
    outside = [folder for folder in private_folders if not f"{folder}/".startswith(f"{workdir}/")]
    private = {topmost[folder] for folder in outside if folder in topmost}
    shown = {point for _, parent, point in mounts if parent in private}
    return sorted(shown - {workdir})


def _read_mounts() -> list[tuple[str, str, str]]:
    """Return the number, the number of the mount around it, and the path of each mount."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        fields = [line.split()[:5] for line in file]
    return [(number, parent, _unescape(point)) for number, parent, _, _, point in fields]


def _unescape(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _mount_home(target: str, size: int) -> None:
    linux_calls.mount("tmpfs", target, "tmpfs", _MOUNT_FLAGS, f"size={size},mode=700")


def _mount_step(step: _MountStep) -> None:
    source, target = step.source, step.target
    match step.kind:
        case "tmpfs":
            linux_calls.mount("tmpfs", _ensure_exists(target), "tmpfs", _MOUNT_FLAGS, source)
        case "null" if step.tree is not None:
            linux_calls.attach(step.tree, target)
        case "folder":
            _ensure_exists(target)
        case "proc":
            linux_calls.mount("proc", target, "proc", _PROC_FLAGS | linux_calls.MS_RDONLY)
        case "dev":
            _make_devices(target, step.devices)
        case "home":
            linux_calls.attach(linux_calls.clone_tree(f"{BRANCH_HOME}/{source}"), _ensure_exists(target))
        case "bind" | "device" if step.tree is not None:
            linux_calls.make_read_only(step.tree, devices=step.kind == "device")
            linux_calls.attach(step.tree, _ensure_exists(target, like=step.tree))


def _ensure_exists(target: str, *, like: int | None = None) -> str:
    """Return the target, creating it if missing: an empty folder, or an empty file if a file is to be shown."""
    if not os.path.lexists(target):
        if like is None or os.path.isdir(f"/proc/self/fd/{like}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    return target


def _make_devices(folder: str, devices: dict[str, int]) -> None:
    """Mount a `/dev` with these devices."""
    linux_calls.mount("tmpfs", folder, "tmpfs", linux_calls.MS_NOSUID, "size=1m,mode=755")
    for name, tree in devices.items():
        linux_calls.attach(tree, _ensure_exists(f"{folder}/{name}", like=tree))
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{folder}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    _mount_terminals(f"{folder}/pts")
    os.symlink("pts/ptmx", f"{folder}/ptmx")


def _mount_terminals(folder: str) -> None:
    linux_calls.mount(
        "devpts", folder, "devpts", _PROC_FLAGS & ~linux_calls.MS_NODEV, "newinstance,ptmxmode=0666,mode=620"
    )
