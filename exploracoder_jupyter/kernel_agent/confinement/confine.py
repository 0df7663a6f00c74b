"""Puts a process that has just been forked into its own view of the machine, for good.

Generation 1 is a child of a kernel that is not confined: everything becomes read-only, what the plan hides is hidden.
Every generation, its descendants too, gets files, processes and network of its own. A private tmpfs, the *home*, holds
all that a branch can write: the upper layer of an overlay at the working directory, `/tmp`, shared memory, sockets. It
starts as a copy of the parent's, so that files follow the branch tree, and vanishes with the process.

What all generations have in common (empty folders in the place of what is hidden, `/run`, `/dev`) can be written by
none of them: siblings would find there what the others wrote.

Nothing of it can be undone from within: mounts made before a user namespace was entered are locked in it, and each
generation enters a new one and then gives up its capabilities. Tried for 32 generations, which is where user namespaces
end. Needs Linux 5.12; `probe` finds out whether it works.

Whoever enters a user namespace must write its map of users into a writable `/proc`. Where the view has one, the kernel
allows further ones, with all of `/proc/sys`, to anybody who gets a user namespace. So the first generation makes one
that is mounted nowhere, and the engine passes its descriptor to each fork for as long as the fork needs it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import socket
import struct
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import syscalls
from exploracoder_jupyter.kernel_agent.confinement.folder_copy import copy_tree

HOME = "/run/explora"
"""Where a branch finds its own files. The path beside it holds the next home while it is made."""
_NEXT = f"{HOME}.next"
PRIVATE = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders whose content each branch has for itself, a copy of its parent's."""
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


class _Step:
    """One mount of the plan, `[kind, source, target]`; see `kernels.sandbox.isolation.Mount`."""

    def __init__(self, kind: str, source: str, target: str) -> None:
        self.kind, self.source, self.target = kind, source, target
        self.tree: int | None = None

    def fetch(self) -> None:
        """Take hold of what is to be shown, before anything is mounted over it. What does not exist is left out."""
        if self.kind in ("bind", "device") and os.path.exists(self.source):
            self.tree = syscalls.clone_tree(self.source)


def enter_namespaces(*, network: bool, proc: int | None = None, permit: int | None = None) -> None:
    """Leave the parent's namespaces; the next child begins a process namespace of its own. One thread only.

    `proc` is what `build_view` returned to the first generation, `permit` a file with the words that the system call
    filter of the parent wants to see; the first generation needs neither.
    """
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare(_NAMESPACES | (0 if network else syscalls.CLONE_NEWNET), permit)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        path = f"/proc/self/{name}" if proc is None else f"self/{name}"
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def build_view(order: dict[str, Any]) -> int | None:
    """Mount this generation's view. To be called by the first process of the new process namespace but the reaper.

    Returns for the first generation a descriptor of a `/proc` that is mounted nowhere, for `enter_namespaces`.

    Keys of the order: `first`, `size` (bytes of home), `workdir`, `lower` (the snapshot), `borrowed` (paths in the
    working directory that are shown as they are), `overlay` (else the working directory is a copy), `network`; for the
    first generation also `plan` and `after`, what is to be done before and after the working directory is shown, and
    `fonts`.
    """
    if not order["network"]:
        _loopback_up()
    borrowed = [(path, syscalls.clone_tree(path)) for path in order["borrowed"] if os.path.exists(path)]
    proc = _own_proc() if order["first"] else None
    rest = _begin(order) if order["first"] else _renew(order)
    _show_working_directory(order)
    for path, tree in borrowed:
        syscalls.make_read_only(tree)
        syscalls.attach(tree, _made(path, like=tree))
    for step in rest:
        _carry_out(step)
    if order["first"]:
        _close_what_is_shared([*order["plan"], *order["after"]])
    return proc


def give_up_privileges() -> None:
    """Keep no capability. A user namespace that maps root can only be made by root with CAP_SETFCAP (Linux 5.12)."""
    syscalls.drop_capabilities(keep=1 << syscalls.CAP_SETFCAP if os.getuid() == 0 else 0)


def _own_proc() -> int:
    """A writable `/proc`, mounted nowhere, in which a process finds itself and nothing of the machine."""
    return syscalls.detached_mount("proc", _PROC, {"subset": "pid", "hidepid": "ptraceable"})


def _forbid_control_groups() -> None:
    """Nobody in this user namespace or below may make a namespace of control groups: it would allow to mount their file
    system, which is writable for whom it belongs to."""
    with contextlib.suppress(FileNotFoundError), open("/proc/sys/user/max_cgroup_namespaces", "w") as file:
        file.write("0")


def _begin(order: dict[str, Any]) -> list[_Step]:
    """Cover the whole machine; the steps that are left for when the working directory is shown."""
    _forbid_control_groups()
    syscalls.mount("", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    plan, after = ([_Step(*step) for step in order[name]] for name in ("plan", "after"))
    for step in (*plan, *after):
        step.fetch()
    syscalls.make_read_only("/")
    syscalls.mount("tmpfs", "/run", "tmpfs", _PLAIN, "size=1m,mode=755")
    for folder in (HOME, _NEXT):
        os.mkdir(folder, 0o700)
    _mount_home(HOME, order["size"])
    for folder in _FOLDERS:
        os.mkdir(f"{HOME}/{folder}", 0o700)
    for fonts in order["fonts"]:
        shutil.copy(fonts, f"{HOME}/matplotlib")
    if not order["overlay"]:
        copy_tree(order["lower"], f"{HOME}/work")
    for step in plan:
        _carry_out(step)
    return after


def _close_what_is_shared(steps: list[list[str]]) -> None:
    """No generation may write to what the later ones inherit as it is: everything mounted here but the home."""
    home = os.stat(HOME).st_dev
    made = [target for kind, _, target in steps if kind in ("tmpfs", "dev")]
    for place in dict.fromkeys(["/run", *made]):
        if os.stat(place).st_dev != home:
            syscalls.make_read_only(place, below=False)


def _renew(order: dict[str, Any]) -> list[_Step]:
    """Cover what is the parent's: its home, and the processes that it sees."""
    _mount_home(_NEXT, order["size"])
    copy_tree(HOME, _NEXT, leave_out=_NOT_INHERITED)
    for name in _NOT_INHERITED:
        os.mkdir(f"{_NEXT}/{name}", 0o700)
    syscalls.mount(_NEXT, HOME, flags=syscalls.MS_MOVE)
    syscalls.mount("proc", "/proc", "proc", _PROC | syscalls.MS_RDONLY)
    if os.path.isdir("/dev/pts"):
        _mount_terminals("/dev/pts")
    shown = [(path, syscalls.clone_tree(path)) for path in _mounted_in_private(order["workdir"])]
    for folder, name in zip(PRIVATE, ("tmp", "tmp", "shm"), strict=True):
        if os.path.isdir(folder):
            syscalls.attach(syscalls.clone_tree(f"{HOME}/{name}"), folder)
    for path, tree in shown:
        syscalls.attach(tree, _made(path, like=tree))
    return []


def _mounted_in_private(workdir: str) -> list[str]:
    """What is shown within the private folders (environments, the snapshot), but for the working directory."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        mounts = [line.split()[:5] for line in file]
    uppermost = {_unescaped(point): number for number, _, _, _, point in mounts}
    private = {uppermost[folder] for folder in PRIVATE if folder in uppermost}
    shown = {_unescaped(point) for _, parent, _, _, point in mounts if parent in private}
    return sorted(shown - {workdir})


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _mount_home(target: str, size: int) -> None:
    syscalls.mount("tmpfs", target, "tmpfs", _PLAIN, f"size={size},mode=700")


def _show_working_directory(order: dict[str, Any]) -> None:
    workdir = _made(order["workdir"])
    if order["overlay"]:
        layers = f"lowerdir={order['lower']},upperdir={HOME}/up,workdir={HOME}/over,userxattr"
        syscalls.mount("overlay", workdir, "overlay", _PLAIN, layers)
    else:
        syscalls.attach(syscalls.clone_tree(f"{HOME}/work"), workdir)


def _carry_out(step: _Step) -> None:
    source, target = step.source, step.target
    match step.kind:
        case "tmpfs":
            syscalls.mount("tmpfs", _made(target), "tmpfs", _PLAIN, source)
        case "null":
            syscalls.attach(syscalls.clone_tree("/dev/null"), target)
        case "proc":
            syscalls.mount("proc", target, "proc", _PROC | syscalls.MS_RDONLY)
        case "dev":
            _make_devices(target)
        case "home":
            syscalls.attach(syscalls.clone_tree(f"{HOME}/{source}"), _made(target))
        case "bind" | "device" if step.tree is not None:
            syscalls.make_read_only(step.tree)  # devices in it can be written all the same
            syscalls.attach(step.tree, _made(target, like=step.tree))


def _made(target: str, *, like: int | None = None) -> str:
    """The target, made if it is missing: an empty folder, or an empty file where a file is to be shown."""
    if not os.path.lexists(target):
        if like is None or os.path.isdir(f"/proc/self/fd/{like}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    return target


def _make_devices(folder: str) -> None:
    """A `/dev` with the few devices that every program needs."""
    kept = [(name, syscalls.clone_tree(f"/dev/{name}")) for name in _DEVICES if os.path.exists(f"/dev/{name}")]
    syscalls.mount("tmpfs", folder, "tmpfs", syscalls.MS_NOSUID, "size=1m,mode=755")
    for name, tree in kept:
        syscalls.attach(tree, _made(f"{folder}/{name}", like=tree))
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{folder}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    _mount_terminals(f"{folder}/pts")
    os.symlink("pts/ptmx", f"{folder}/ptmx")


def _mount_terminals(folder: str) -> None:
    syscalls.mount("devpts", folder, "devpts", _PROC & ~syscalls.MS_NODEV, "newinstance,ptmxmode=0666,mode=620")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
