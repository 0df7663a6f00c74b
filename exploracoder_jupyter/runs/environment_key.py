"""All that decides which interpreter reads a library, and where that looks for it, as one text."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.settings import Sandbox

_DECIDE = ("PYTHON", "CONDA", "VIRTUAL_ENV", "LD_", "DYLD_", "HOME", "PATH")
"""Variables that begin so decide what an interpreter is and where it looks."""


def environment_of(sandbox: Sandbox, folder: Path) -> str | None:
    """The environment of siblings that work in this folder; None where it cannot be told from here: it is on another
    machine, or its kernel is none."""
    if sandbox.gateway:
        return None
    kernel = _kernel(sandbox.kernel) if sandbox.kernel else {}
    if kernel is None:
        return None
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_DECIDE)}
    parts = [sandbox.model_dump(mode="json"), kernel, sys.executable, sys.prefix, str(folder.absolute()), variables]
    return json.dumps(parts, sort_keys=True)


def _kernel(name: str) -> dict[str, JsonValue] | None:
    """What starts the kernel of this name."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # seldom needed, and slow to import

    try:
        return dict(KernelSpecManager().get_kernel_spec(name).to_dict())
    except (NoSuchKernel, ValueError):
        return None
