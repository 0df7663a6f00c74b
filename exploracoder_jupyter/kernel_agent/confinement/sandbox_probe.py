"""Tries, in a child of its own, how far a forked process can be confined here; prints one line of JSON.

`namespaces`: empty if two generations of it work, else why not. `overlay`: whether an overlay on memory keeps what is
needed for a folder that was removed and made again (Linux 6.6). `landlock`: version of its interface, 0 without.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NoReturn

from exploracoder_jupyter.kernel_agent.confinement import confine, landlock

_PLAN = [["dev", "", "/dev"], ["proc", "", "/proc"], ["home", "shm", "/dev/shm"], ["home", "tmp", "/tmp"]]


def find(folder: str) -> dict[str, Any]:
    """What works, tried in this folder."""
    for name in ("files/sub", "work"):
        os.makedirs(os.path.join(folder, name))
    best = _tried(lambda: _generations(folder, overlay=True))
    plain = best and _tried(lambda: _generations(folder, overlay=False))
    return {"namespaces": plain, "overlay": not best, "landlock": landlock.version()}


def _generations(folder: str, *, overlay: bool) -> None:
    order = {
        "first": True,
        "plan": [*_PLAN, ["tmpfs", "size=64k", folder], ["bind", f"{folder}/files", f"{folder}/files"]],
        "after": [],
        "fonts": [],
        "size": 1 << 20,
        "workdir": f"{folder}/work",
        "lower": f"{folder}/files",
        "borrowed": [],
        "overlay": overlay,
        "network": False,
    }
    _generation(order, then=order)


def _generation(order: dict[str, Any], *, then: dict[str, Any] | None, proc: int | None = None) -> None:
    confine.enter_namespaces(network=False, proc=proc)
    _in_child(lambda: _look_around(order, then))


def _look_around(order: dict[str, Any], then: dict[str, Any] | None) -> None:
    proc = confine.build_view(order)
    os.chdir(order["workdir"])
    os.rmdir("sub")
    os.mkdir("sub")
    confine.give_up_privileges()
    if then is not None:
        _in_child(lambda: _generation({**then, "first": False}, then=None, proc=proc))


def _tried(work: Callable[[], None]) -> str:
    """Why the work failed in a child process, or nothing."""
    try:
        _in_child(work)
    except OSError as error:
        return str(error)
    return ""


def _in_child(work: Callable[[], None]) -> None:
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        _report(work, ours)
    os.close(ours)
    with os.fdopen(theirs) as said:
        problem = said.read()
    os.waitpid(child, 0)
    if problem != "done":
        raise OSError(problem or "the process was ended")


def _report(work: Callable[[], None], to: int) -> NoReturn:
    try:
        work()
        os.write(to, b"done")
    except BaseException as error:
        os.write(to, str(error).encode()[:500] or b"unknown")
    os._exit(0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(json.dumps(find(os.path.realpath(place))) + "\n")
