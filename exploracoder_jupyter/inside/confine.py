"""Puts a process that has just been forked into its own view of the machine, for good.

Generation 1 is a child of a kernel that is not confined: everything becomes read-only, what the plan hides is hidden.
Every generation, its descendants too, gets files, processes and network of its own. A private tmpfs, the *home*, holds
all that a branch can write: the upper layer of an overlay at the working directory, `/tmp`, shared memory, sockets. It
starts as a copy of the parent's, so that files follow the branch tree, and vanishes with the process.

Nothing of it can be undone from within: mounts made before a user namespace was entered are locked in it, and each
generation enters a new one and then gives up its capabilities. Tried for 32 generations, which is where user namespaces
end. Needs Linux 5.12; `probe` tells whether it works.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
from collections.abc import Sequence
from typing import Any

from exploracoder_jupyter.inside import syscalls
from exploracoder_jupyter.inside.copying import copy_tree

HOME = "/run/explora"
"""Where a branch finds its own files. The paths beside it hold the next home while it is made, and a `/proc` in which
a process finds itself alone, writable because new user namespaces need that."""
_NEXT, _SELF = f"{HOME}.next", f"{HOME}.self"
_FOLDERS = ("up", "over", "work", "tmp", "shm", "ipython", "matplotlib", "k")
_NOT_INHERITED = ("k", "over")
_NAMESPACES = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
)
_PLAIN = syscalls.MS_NOSUID | syscalls.MS_NODEV
_PROC = _PLAIN | syscalls.MS_NOEXEC
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41

Plan = Sequence[Sequence[str]]
"""Steps: `[kind, source, target]`, in order; see `execution.isolation.Mount`."""


def enter_namespaces(*, network: bool) -> None:
    """Leave the parent's namespaces; the next child begins a process namespace of its own. One thread only."""
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare(_NAMESPACES | (0 if network else syscalls.CLONE_NEWNET))
    process = f"{_SELF}/self" if os.path.isdir(f"{_SELF}/self") else "/proc/self"
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"{process}/{name}", "w") as file:
            file.write(text)


def build_view(order: dict[str, Any]) -> None:
    """Mount this generation's view. To be called by the first processes of the new process namespace.

    Keys of the order: `first`, `plan`, `size` (bytes of home), `workdir`, `lower` (the snapshot), `borrowed` (paths in
    the working directory that are shown as they are), `overlay` (else the working directory is a copy), `network`.
    """
    if not order["network"]:
        _loopback_up()
    borrowed = [(path, syscalls.clone_tree(path)) for path in order["borrowed"] if os.path.exists(path)]
    if order["first"]:
        _begin(order)
    else:
        _renew(order)
    _show_working_directory(order)
    for path, tree in borrowed:
        syscalls.make_read_only(tree)
        syscalls.attach(tree, _made(path, like=tree))


def give_up_privileges() -> None:
    """Keep no capability. A user namespace that maps root can only be made by root with CAP_SETFCAP (Linux 5.12)."""
    syscalls.drop_capabilities(keep=1 << syscalls.CAP_SETFCAP if os.getuid() == 0 else 0)


def _begin(order: dict[str, Any]) -> None:
    syscalls.mount("", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    trees = {source: syscalls.clone_tree(source) for source in _sources(order["plan"])}
    syscalls.make_read_only("/")
    syscalls.mount("tmpfs", "/run", "tmpfs", _PLAIN, "size=1m,mode=755")
    for folder in (HOME, _NEXT, _SELF):
        os.mkdir(folder, 0o700)
    syscalls.mount("proc", _SELF, "proc", _PROC, "subset=pid,hidepid=ptraceable")
    _mount_home(HOME, order["size"])
    for folder in _FOLDERS:
        os.mkdir(f"{HOME}/{folder}", 0o700)
    for fonts in order["fonts"]:
        shutil.copy(fonts, f"{HOME}/matplotlib")
    if not order["overlay"]:
        copy_tree(trees_path(trees, order["lower"]), f"{HOME}/work")
    for kind, source, target in order["plan"]:
        _step(kind, source, target, trees)


def trees_path(trees: dict[str, int], path: str) -> str:
    """A path that reaches what was at `path` before anything was mounted over it."""
    return f"/proc/self/fd/{trees[path]}" if path in trees else path


def _renew(order: dict[str, Any]) -> None:
    _mount_home(_NEXT, order["size"])
    copy_tree(HOME, _NEXT, leave_out=_NOT_INHERITED)
    for name in _NOT_INHERITED:
        os.mkdir(f"{_NEXT}/{name}", 0o700)
    syscalls.mount(_NEXT, HOME, flags=syscalls.MS_MOVE)
    syscalls.mount("proc", "/proc", "proc", _PROC | syscalls.MS_RDONLY)
    for folder, name in (("/tmp", "tmp"), ("/var/tmp", "tmp"), ("/dev/shm", "shm")):
        if os.path.isdir(folder):
            syscalls.attach(syscalls.clone_tree(f"{HOME}/{name}"), folder)


def _mount_home(target: str, size: int) -> None:
    syscalls.mount("tmpfs", target, "tmpfs", _PLAIN, f"size={size},mode=700")


def _show_working_directory(order: dict[str, Any]) -> None:
    workdir = order["workdir"]
    if order["overlay"]:
        layers = f"lowerdir={order['lower']},upperdir={HOME}/up,workdir={HOME}/over,userxattr"
        syscalls.mount("overlay", workdir, "overlay", _PLAIN, layers)
    else:
        syscalls.attach(syscalls.clone_tree(f"{HOME}/work"), workdir)


def _sources(plan: Plan) -> list[str]:
    return sorted({source for kind, source, _ in plan if kind in ("bind", "device") and os.path.exists(source)})


def _step(kind: str, source: str, target: str, trees: dict[str, int]) -> None:
    match kind:
        case "tmpfs":
            syscalls.mount("tmpfs", _made(target), "tmpfs", _PLAIN, source)
        case "null":
            syscalls.attach(syscalls.clone_tree("/dev/null"), target)
        case "proc":
            syscalls.mount("proc", target, "proc", _PROC | syscalls.MS_RDONLY)
        case "dev":
            _make_devices(target, trees)
        case "home":
            syscalls.attach(syscalls.clone_tree(f"{HOME}/{source}"), _made(target))
        case "bind" | "device" if source in trees:
            tree = trees.pop(source)
            if kind == "bind":
                syscalls.make_read_only(tree)
            syscalls.attach(tree, _made(target, like=tree))


def _made(target: str, *, like: int | None = None) -> str:
    """The target, made if it is missing: an empty folder, or an empty file where a file is to be shown."""
    if not os.path.lexists(target):
        if like is None or os.path.isdir(f"/proc/self/fd/{like}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    return target


def _make_devices(folder: str, trees: dict[str, int]) -> None:
    """A `/dev` with the few devices that every program needs."""
    kept = [(name, syscalls.clone_tree(f"/dev/{name}")) for name in _DEVICES if os.path.exists(f"/dev/{name}")]
    syscalls.mount("tmpfs", folder, "tmpfs", syscalls.MS_NOSUID, "size=1m,mode=755")
    for name, tree in kept:
        syscalls.attach(tree, _made(f"{folder}/{name}", like=tree))
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{folder}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    syscalls.mount("devpts", f"{folder}/pts", "devpts", _PROC & ~syscalls.MS_NODEV, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{folder}/ptmx")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
