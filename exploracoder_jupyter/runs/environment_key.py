"""Computes a cache key from everything that decides which interpreter reads a library and where it is found."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox

_PREFIXES = ("PYTHON", "CONDA", "VIRTUAL_ENV", "LD_", "DYLD_", "HOME", "PATH")
"""Prefixes of environment variables that determine an interpreter and its search path."""


def environment_key(sandbox: Sandbox, folder: Path) -> str | None:
    """Return a key for the environment of siblings that run in this folder.

    `None` if it cannot be determined here: the kernels are on another machine, or the kernelspec does not exist.
    """
    if sandbox.gateway:
        return None
    kernel = _kernelspec(sandbox.kernel) if sandbox.kernel else {}
    if kernel is None:
        return None
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)}
    parts = [asdict(sandbox), kernel, sys.executable, sys.prefix, str(folder.absolute()), variables]
    return json.dumps(parts, sort_keys=True)


def _kernelspec(name: str) -> dict[str, JsonValue] | None:
    """Return the kernelspec of this name; `None` if there is none."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # rarely needed, and slow to import

    try:
        return dict(KernelSpecManager().get_kernel_spec(name).to_dict())
    except (NoSuchKernel, ValueError):
        return None
