"""What a branch finds around itself: files of its own, a working directory, an environment without secrets."""

from __future__ import annotations

import contextlib
import ctypes
import os
import posix
import shutil
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import confine, landlock, resource_limits
from exploracoder_jupyter.kernel_agent.confinement.folder_copy import copy_tree

_ENV_START, _ENV_END = 47, 48
"""Fields of `/proc/self/stat`, counted behind the command's name (proc(5): 50 and 51)."""
_BYTES_HEADER = bytes.__basicsize__ - 1
_libc = ctypes.CDLL(None)
_libc.getenv.restype = ctypes.c_void_p
_KEPT = ("MPLBACKEND",)
"""Variables that kernels set for themselves: where figures go."""
_OWN = ("tmp", "ipython", "matplotlib", "k")


def move_in(order: dict[str, Any]) -> tuple[dict[str, str], int | None]:
    """Take possession of the branch's own files.

    Returns which folders' content came along, and where it is now; and what `confine.build_view` returned.
    """
    proc = None
    before = order["chdir"] or _working_directory()
    if order["level"] == "namespaces":
        proc = confine.build_view(order)
        places = (order["workdir"], *(() if order["first"] else confine.PRIVATE))
        carried = {path: path for path in places}
    elif order["level"] == "open":
        _make_home(order)
        carried = {}
    else:
        carried = _settle(order)
    _change_directory(before, carried, order["workdir"])
    if order["level"] == "namespaces":
        confine.give_up_privileges()
    elif order["level"] == "landlock":
        landlock.restrict(**order["landlock"])
        confine.give_up_privileges()  # Landlock does not keep root from the environment of other processes
    return carried, proc


def _make_home(order: dict[str, Any]) -> str:
    """A folder of the branch's own."""
    home: str = order["home"]
    os.mkdir(home, 0o700)
    for name in _OWN:
        os.mkdir(f"{home}/{name}", 0o700)
    return home


def _settle(order: dict[str, Any]) -> dict[str, str]:
    """The level of copies: a folder of the branch's own, with copies of the working directory and `tmp` in it."""
    home, source = _make_home(order), order["source"]
    for fonts in order["fonts"]:
        shutil.copy(fonts, f"{home}/matplotlib")
    os.mkdir(f"{home}/work", 0o700)
    copy_tree(order["from"], f"{home}/work")
    if order["first"]:
        return {source: f"{home}/work"}
    parent = os.path.dirname(source)
    copy_tree(f"{parent}/tmp", f"{home}/tmp")
    return {source: f"{home}/work", f"{parent}/tmp": f"{home}/tmp"}


def point_to_own(order: dict[str, Any]) -> None:
    """Let what names folders of the parent's name the branch's own."""
    if order["level"] == "open":
        return
    if order["level"] != "namespaces":
        resource_limits.adopt_orphans()
        home = order["home"]
        os.environ.update(TMPDIR=f"{home}/tmp", IPYTHONDIR=f"{home}/ipython", MPLCONFIGDIR=f"{home}/matplotlib")
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def _change_directory(before: str, carried: dict[str, str], otherwise: str) -> None:
    """To where the parent was, as it is here."""
    for old, new in carried.items():
        if before == old or before.startswith(f"{old}/"):
            before = new + before.removeprefix(old)
            break
    for place in (before, *carried.values(), otherwise):
        with contextlib.suppress(OSError):
            os.chdir(place)
            return


def scrub(environ: dict[str, str]) -> None:
    """Replace the environment, and wipe what this process has of the old one: the interpreter's copies, the C
    library's, and the block that it was started with, which `/proc/self/environ` shows."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    old = [*posix.environ.items(), *os.environ._data.items()]  # type: ignore[attr-defined]
    secret = [value for name, value in old if os.fsdecode(name) not in environ and len(value) > 1]
    for name, _ in old:
        _wipe_string(os.fsencode(name))
    os.environ.clear()
    posix.environ.clear()
    for value in secret:
        ctypes.memset(id(value) + _BYTES_HEADER, 0, len(value))
    os.environ.update(environ | kept)
    posix.environ.update(os.environ._data)  # type: ignore[attr-defined]
    _wipe_initial_block()


def _wipe_string(name: bytes) -> None:
    """Wipe the value that the C library has for a variable, which removing it leaves in memory."""
    address = _libc.getenv(name)
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))


def _wipe_initial_block() -> None:
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    if start and end > start:
        ctypes.memset(start, 0, end - start)
