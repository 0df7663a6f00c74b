"""Tests in a child process how far a forked process can be confined here; prints one line of JSON.

`namespaces`: empty if two nested generations work, otherwise the reason. `overlay`: whether an overlay on a tmpfs
supports removing a folder and creating it again (Linux 6.6). `landlock`: version of its interface, 0 if unavailable.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import linux_calls, namespaces

_PLAN = [["dev", "", "/dev"], ["proc", "", "/proc"], ["home", "shm", "/dev/shm"], ["home", "tmp", "/tmp"]]


def probe_sandbox(folder: str) -> dict[str, Any]:
    """Return what works, using this folder for the test."""
    for name in ("files/sub", "work"):
        os.makedirs(os.path.join(folder, name))
    overlay_failure = _failure_of(lambda: _test_generations(folder, overlay=True))
    copy_failure = overlay_failure and _failure_of(lambda: _test_generations(folder, overlay=False))
    return {"namespaces": copy_failure, "overlay": not overlay_failure, "landlock": linux_calls.version()}


def _test_generations(folder: str, *, overlay: bool) -> None:
    order = {
        "first": True,
        "plan": [*_PLAN, ["tmpfs", "size=64k", folder]],
        "after": [],
        "fonts": [],
        "size": 1 << 20,
        "workdir": f"{folder}/work",
        "lower": f"{folder}/files",
        "borrowed": [],
        "layers": {},
        "overlay": overlay,
        "network": False,
    }
    _enter_generation(order, nested=order)


def _enter_generation(order: dict[str, Any], *, nested: dict[str, Any] | None, proc: int | None = None) -> None:
    namespaces.enter_namespaces(network=False, proc=proc)
    _in_child(lambda: _test_view(order, nested))


def _test_view(order: dict[str, Any], nested: dict[str, Any] | None) -> None:
    proc = namespaces.build_view(order)
    os.chdir(order["workdir"])
    os.rmdir("sub")
    os.mkdir("sub")
    namespaces.give_up_privileges()
    if nested is not None:
        _in_child(lambda: _enter_generation({**nested, "first": False}, nested=None, proc=proc))


def _failure_of(function: Callable[[], None]) -> str:
    """Return why the function failed in a child process, or an empty string."""
    try:
        _in_child(function)
    except OSError as error:
        return str(error)
    return ""


def _in_child(function: Callable[[], None]) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            function()
            os.write(writing, b"done")
        except BaseException as error:
            os.write(writing, str(error).encode()[:500] or b"unknown")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        outcome = pipe.read()
    os.waitpid(child, 0)
    if outcome != "done":
        raise OSError(outcome or "the process was killed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(probe_sandbox(os.path.realpath(folder))) + "\n")
