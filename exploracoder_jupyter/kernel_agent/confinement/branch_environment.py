"""Sets up the environment of a branch: its own files, a working directory, environment variables without secrets."""

from __future__ import annotations

import contextlib
import ctypes
import os
import posix
import shutil
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import linux_calls, namespaces
from exploracoder_jupyter.kernel_agent.confinement.file_copies import copy_tree

_ENV_START, _ENV_END = 47, 48
"""Fields of `/proc/self/stat`, counted after the command's name (proc(5): 50 and 51)."""
_BYTES_HEADER = bytes.__basicsize__ - 1
_libc = ctypes.CDLL(None)
_libc.getenv.restype = ctypes.c_void_p
_PRESERVED = ("MPLBACKEND",)
"""Variables that kernels set for themselves; this one selects where figures are drawn."""
_USER_HOME = "home"
"""Name of the folder that stands for the user's home, where nothing can be mounted over that."""
_MOVED_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_FOLDERS = ("tmp", "ipython", "matplotlib", "k")


def enter_view(order: dict[str, Any]) -> tuple[dict[str, str], int | None]:
    """Switch to the branch's own files.

    Returns the folders whose content was carried over with their current paths, and the result of
    `namespaces.build_view`.
    """
    proc, previous = None, order["chdir"] or "/"
    if not order["chdir"]:
        with contextlib.suppress(OSError):  # it may have been removed
            previous = os.getcwd()
    if order["level"] == "namespaces":
        proc = namespaces.build_view(order)
        private = () if order["first"] else (*namespaces.PRIVATE_FOLDERS, *order["layers"])
        paths = (order["workdir"], *private)
        carried = {path: path for path in paths}
    elif order["level"] == "open":
        _make_home(order)
        carried = {}
    else:
        carried = _make_copies(order)
    _change_directory(previous, carried, order["workdir"])
    if order["level"] == "namespaces":
        namespaces.give_up_privileges()
    elif order["level"] == "landlock":
        linux_calls.restrict(**order["landlock"])
        namespaces.give_up_privileges()  # Landlock does not stop root from reading the environment of other processes
    return carried, proc


def _make_home(order: dict[str, Any]) -> str:
    home: str = order["home"]
    os.mkdir(home, 0o700)
    for name in _FOLDERS:
        os.mkdir(f"{home}/{name}", 0o700)
    return home


def _make_copies(order: dict[str, Any]) -> dict[str, str]:
    """Create a folder for the branch with copies of the working directory and `tmp` (isolation level of copies)."""
    home, source = _make_home(order), order["source"]
    for fonts in order["fonts"]:
        shutil.copy(fonts, f"{home}/matplotlib")
    os.mkdir(f"{home}/work", 0o700)
    copy_tree(order["from"], f"{home}/work")
    if order["level"] == "landlock":
        os.mkdir(f"{home}/{_USER_HOME}", 0o700)
    if order["first"]:
        for place, path in order["links"].items():
            link = f"{home}/{_USER_HOME}/{place}"
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(path, link)
        return {source: f"{home}/work"}
    parent = os.path.dirname(source)
    carried = {source: f"{home}/work"}
    for name in ("tmp", *([_USER_HOME] if order["level"] == "landlock" else ())):
        copy_tree(f"{parent}/{name}", f"{home}/{name}")
        carried[f"{parent}/{name}"] = f"{home}/{name}"
    return carried


def use_own_folders(order: dict[str, Any]) -> None:
    """Let variables that name folders of the parent name the branch's own folders."""
    if order["level"] == "open":
        return
    if order["level"] != "namespaces":
        linux_calls.adopt_orphans()
        home = order["home"]
        os.environ.update(TMPDIR=f"{home}/tmp", IPYTHONDIR=f"{home}/ipython", MPLCONFIGDIR=f"{home}/matplotlib")
    if order["level"] == "landlock":  # libraries may write in what they take for the user's home
        os.environ["HOME"] = f"{home}/{_USER_HOME}"
        for name in _MOVED_FOLDERS:
            os.environ.pop(name, None)
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None


def _change_directory(previous: str, carried: dict[str, str], fallback: str) -> None:
    """Change to the parent's working directory, or to its copy in this branch."""
    for old, new in carried.items():
        if previous == old or previous.startswith(f"{old}/"):
            previous = new + previous.removeprefix(old)
            break
    for folder in (previous, *carried.values(), fallback):
        with contextlib.suppress(OSError):
            os.chdir(folder)
            return


def forget_kernel_arguments(shell: Any) -> None:
    """Leave no command-line arguments to code that reads its own, unless the user has replaced those of the kernel."""
    connection = os.path.basename(shell.kernel.parent.connection_file)
    if any(argument.endswith(connection) for argument in sys.argv):
        sys.argv[:] = [""]


def clean_environment(environ: dict[str, str]) -> None:
    """Replace the environment and erase the old one from memory.

    Erases the interpreter's copies, the C library's, and the block that the process was started with, which
    `/proc/self/environ` shows.
    """
    preserved = {name: os.environ[name] for name in _PRESERVED if name in os.environ}
    old = [*posix.environ.items(), *os.environ._data.items()]  # type: ignore[attr-defined]
    secret = [value for name, value in old if os.fsdecode(name) not in environ and len(value) > 1]
    for name, _ in old:  # the C library's values stay in memory when variables are removed
        if address := _libc.getenv(os.fsencode(name)):
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
    os.environ.clear()
    posix.environ.clear()
    for value in secret:
        ctypes.memset(id(value) + _BYTES_HEADER, 0, len(value))
    os.environ.update(environ | preserved)
    posix.environ.update(os.environ._data)  # type: ignore[attr-defined]
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    if start and end > start:
        ctypes.memset(start, 0, end - start)
