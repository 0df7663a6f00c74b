"""Where a search looks when another interpreter makes it: at what this kernel can import, all the same.

The command finds interpreters as kernels (`--kernel`), so this one is made known to it under a name of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from exploracoder_jupyter.config import Sandbox

NAME = "this-notebook"
"""This interpreter as a kernel, in the environment that `made_known` gives."""


def would_look_elsewhere(sandbox: Sandbox) -> bool:
    """Whether the search is made by another interpreter, and nothing says which one it is to look into."""
    other = sandbox.engine_python not in (None, sys.executable)
    return other and sandbox.kernel is None and sandbox.gateway is None


@contextmanager
def made_known() -> Iterator[dict[str, str]]:
    """The environment of this process, in which the kernel `NAME` is this interpreter as long as the context lasts."""
    with TemporaryDirectory(prefix="explora-") as folder:
        home = Path(folder, "kernels", NAME)
        home.mkdir(parents=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": NAME, "language": "python"}
        (home / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        known = filter(None, (folder, os.environ.get("JUPYTER_PATH")))
        yield {**os.environ, "JUPYTER_PATH": os.pathsep.join(known)}
