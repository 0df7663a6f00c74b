"""Whether the libraries that a run names are installed, checked before anything is started.

The check is made in this process, so it answers only where a run explores in this interpreter: a kernelspec, another
interpreter or a gateway is asked by the run itself. What is not found here is not found there either, because
experiments search the same path.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from sys import executable

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import Settings
from exploracoder_jupyter.kernel_agent.introspection import documentation_walk


def check_libraries(libraries: Sequence[str], settings: Settings, *, workdir: Path) -> None:
    """Return at once if all libraries are installed, or if only the run itself can find out.

    Raises:
        UsageError: one is not installed; the remedy suggests installed names that are spelled like it.
    """
    if not is_checked_here(settings):
        return
    importlib.invalidate_caches()  # packages may have been installed since
    documentation_walk.owners.cache_clear()
    for name in libraries:
        if not _is_installed(name, workdir):
            raise not_installed(name, documentation_walk.near(name))


def is_checked_here(settings: Settings) -> bool:
    """Whether this interpreter is the one that a run explores in, and no documents stand in for a library."""
    sandbox = settings.sandbox
    others = (sandbox.python, sandbox.engine_python)
    elsewhere = sandbox.gateway or sandbox.kernel or any(other not in (None, executable) for other in others)
    return not elsewhere and not settings.retrieval.docs


def not_installed(name: str, near: Sequence[str]) -> UsageError:
    """The error for a library that is not installed where a run explores; `near`: installed names like it."""
    meant = " or ".join(repr(other) for other in near[:2])
    return UsageError(
        f"Library {name!r} is not installed in this kernel's environment.",
        remedy=f"Did you mean {meant}? Otherwise install it there." if near else "Install it there, or check its name.",
    )


def _is_installed(name: str, workdir: Path) -> bool:
    """Whether a distribution or module has this name; a module may be in the working directory or on `PYTHONPATH`.

    The variable may have been set since this process started: experiments start with it.
    """
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        places = [str(workdir), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        return bool(documentation_walk.resolve(name) or PathFinder.find_spec(name.partition(".")[0], places))
    return True
